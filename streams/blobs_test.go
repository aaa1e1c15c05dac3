package streams_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const blobsStream = "OBJ_" + streams.BlobsStore

func chatBlob(d events.Digest) string {
	return someChat.Tenant + "/" + someChat.Chat + "/" + d.Hex()
}

func TestOfThoseWhoPutOneBlobOneStoresIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 40_000) // three chunks
	d := events.DigestOf(content)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.Blobs.Put(t.Context(), someChat, d, content); err != nil {
				t.Error(err)
			}
			if got, err := s.Blobs.Get(t.Context(), someChat, d); err != nil || !bytes.Equal(got, content) {
				t.Errorf("right after its put the blob has %d bytes and error %v", len(got), err)
			}
		})
	}
	wg.Wait()
	if n := storedIn(t, s.js, blobsStream); n != 4 {
		t.Errorf("%d messages are stored, want three chunks and a description", n)
	}
}

func TestTheClientLibraryReadsABlob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	content := bytes.Repeat([]byte("x"), 600_000)
	d := events.DigestOf(content)
	if err := s.Blobs.Put(t.Context(), someChat, d, content); err != nil {
		t.Fatal(err)
	}
	store, err := s.js.ObjectStore(t.Context(), streams.BlobsStore)
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.GetBytes(t.Context(), chatBlob(d))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("the library reads %d bytes and %v", len(got), err)
	}
}

func TestWhatTheClientLibraryDeletedMayBePutAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	content := []byte("content")
	d := events.DigestOf(content)
	store, err := s.js.ObjectStore(t.Context(), streams.BlobsStore)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Blobs.Put(t.Context(), someChat, d, content); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Blobs.Get(t.Context(), someChat, d); err != nil || !bytes.Equal(got, content) {
			t.Errorf("got %q and %v", got, err)
		}
		if err := store.Delete(t.Context(), chatBlob(d)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Blobs.Get(t.Context(), someChat, d); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("a deleted blob: %v, want not found", err)
		}
	}
}

func TestADamagedBlobIsNeverHandedOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	content := bytes.Repeat([]byte("x"), 600_000)
	d := events.DigestOf(content)
	if err := s.Blobs.Put(t.Context(), someChat, d, content); err != nil {
		t.Fatal(err)
	}
	stream, err := s.js.Stream(t.Context(), blobsStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 2); err != nil { // the second chunk
		t.Fatal(err)
	}
	got, err := s.Blobs.Get(t.Context(), someChat, d)
	if err == nil || errors.Is(err, protocol.ErrNotFound) || !strings.Contains(err.Error(), blobsStream) {
		t.Errorf("got %d bytes and %v, want an error that names what to restore", len(got), err)
	}
}

func TestAFullStoreKeepsNothingOfABlobThatDidNotFit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	editStream(t, s.js, blobsStream, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 })
	content := bytes.Repeat([]byte("x"), 2<<20)
	if err := s.Blobs.Put(t.Context(), someChat, events.DigestOf(content), content); !errors.Is(err, protocol.ErrStorageFull) {
		t.Fatalf("got %v, want that storage is full", err)
	}
	eventually(t, "its chunks are gone", func() bool { return storedIn(t, s.js, blobsStream) == 0 })
	small := []byte("small")
	if err := s.Blobs.Put(t.Context(), someChat, events.DigestOf(small), small); err != nil {
		t.Errorf("what fits: %v", err)
	}
}
