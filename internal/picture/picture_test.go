package picture_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/everturn/everturn/internal/picture"
)

func canvas() image.Image {
	return image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
}

// encoded is the canvas in each of the kinds that the standard library writes.
func encoded(t *testing.T) map[string][]byte {
	t.Helper()
	var asPNG, asJPEG, asGIF bytes.Buffer
	if err := errors.Join(png.Encode(&asPNG, canvas()), jpeg.Encode(&asJPEG, canvas(), nil), gif.Encode(&asGIF, canvas(), nil)); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"image/png": asPNG.Bytes(), "image/jpeg": asJPEG.Bytes(), "image/gif": asGIF.Bytes()}
}

func webp(chunk string, rest ...byte) []byte {
	return append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk+"\x00\x00\x00\x00"), rest...)
}

func TestPictures(t *testing.T) {
	t.Parallel()
	for mediaType, content := range encoded(t) {
		p, err := picture.Look(content)
		if want := (picture.Picture{MediaType: mediaType, Width: 3, Height: 2}); err != nil || p != want {
			t.Errorf("%s: %+v, %v", mediaType, p, err)
		}
	}
	for name, content := range map[string][]byte{
		"a lossy one":    webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 3, 0, 2, 0),
		"a lossless one": webp("VP8L", 0x2f, 2, 0x40, 0, 0, 0, 0, 0, 0, 0),
		"an extended":    webp("VP8X", 0, 0, 0, 0, 2, 0, 0, 1, 0, 0),
	} {
		p, err := picture.Look(content)
		if want := (picture.Picture{MediaType: "image/webp", Width: 3, Height: 2}); err != nil || p != want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestNoPictures(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"nothing": nil, "a page under another name": []byte("<html></html>"), "a drawing": []byte("<svg/>"), "three bytes": {0x89, 'P', 'N'},
	} {
		if _, err := picture.Look(content); !errors.Is(err, picture.ErrNoPicture) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What no provider takes would be refused with every later request of its chat.
func TestUnfitPictures(t *testing.T) {
	t.Parallel()
	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewGray(image.Rect(0, 0, picture.MaxSide+1, 1))); err != nil {
		t.Fatal(err)
	}
	unfit := map[string][]byte{
		"too wide": wide.Bytes(), "without size": webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0),
		"of no known chunk": webp("ABCD", make([]byte, 10)...), "with a frame that is none": webp("VP8 ", make([]byte, 10)...),
		"with another such": webp("VP8L", make([]byte, 10)...), "that ends early": webp("VP8X"),
	}
	for mediaType, content := range encoded(t) {
		unfit["cut: "+mediaType] = content[:12]
	}
	for name, content := range unfit {
		if p, err := picture.Look(content); err == nil || errors.Is(err, picture.ErrNoPicture) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
