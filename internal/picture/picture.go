// Package picture looks at the beginning of an image's bytes: what it is and how
// large. It decodes no pixels.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// Picture is what an image says of itself.
type Picture struct {
	MediaType     string
	Width, Height int
}

// MaxSide is the largest width or height that providers take.
const MaxSide = 8000

// ErrNoPicture means that the bytes are no image of a kind that is known here.
var ErrNoPicture = errors.New("not a PNG, JPEG, GIF or WebP image")

// Look reads the head of an image. [ErrNoPicture] means that it is none; any
// other error, that it is broken or too large to be shown.
func Look(content []byte) (Picture, error) {
	for _, f := range []struct {
		mediaType string
		magic     string
		size      func([]byte) (width, height int, err error)
	}{
		{"image/png", "\x89PNG\r\n\x1a\n", by(png.DecodeConfig)},
		{"image/jpeg", "\xff\xd8\xff", by(jpeg.DecodeConfig)},
		{"image/gif", "GIF8", by(gif.DecodeConfig)},
		{"image/webp", "RIFF????WEBP", webp},
	} {
		if !begins(content, f.magic) {
			continue
		}
		p := Picture{MediaType: f.mediaType}
		var err error
		p.Width, p.Height, err = f.size(content)
		switch {
		case err != nil:
			return p, fmt.Errorf("a broken %s: %w", f.mediaType, err)
		case p.Width < 1 || p.Height < 1 || p.Width > MaxSide || p.Height > MaxSide:
			return p, fmt.Errorf("an image of %d × %d pixels, at most %d × %d are shown", p.Width, p.Height, MaxSide, MaxSide)
		}
		return p, nil
	}
	return Picture{}, ErrNoPicture
}

// begins reports whether content begins with the magic bytes, in which a question
// mark stands for any.
func begins(content []byte, magic string) bool {
	if len(content) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && content[i] != magic[i] {
			return false
		}
	}
	return true
}

// by reads a size as the standard library does.
func by(decode func(io.Reader) (image.Config, error)) func([]byte) (int, int, error) {
	return func(content []byte) (int, int, error) {
		c, err := decode(bytes.NewReader(content))
		return c.Width, c.Height, err
	}
}

// Lengths within a WebP: the file's header, that of a chunk, and what is needed of
// the first chunk.
const (
	webpHeadBytes  = 12
	webpChunkBytes = 8
	webpSizeBytes  = 10
)

// webp reads the size of a WebP from its first chunk, which is of one of three
// kinds.
func webp(content []byte) (width, height int, err error) {
	if len(content) < webpHeadBytes+webpChunkBytes+webpSizeBytes {
		return 0, 0, io.ErrUnexpectedEOF
	}
	kind, b := string(content[webpHeadBytes:webpHeadBytes+4]), content[webpHeadBytes+webpChunkBytes:]
	const of14 = 1<<14 - 1 // sizes of the older kinds have 14 bits
	switch kind {
	case "VP8 ":
		if !bytes.Equal(b[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0, errors.New("its first frame does not begin as one")
		}
		return int(binary.LittleEndian.Uint16(b[6:])) & of14, int(binary.LittleEndian.Uint16(b[8:])) & of14, nil
	case "VP8L":
		if b[0] != 0x2f {
			return 0, 0, errors.New("its first frame does not begin as one")
		}
		bits := binary.LittleEndian.Uint32(b[1:])
		return int(bits&of14) + 1, int(bits>>14&of14) + 1, nil
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(b[4:]) + 1, three(b[7:]) + 1, nil
	}
	return 0, 0, fmt.Errorf("its first chunk is %q", kind)
}
