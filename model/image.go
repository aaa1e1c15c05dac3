package model

import "slices"

// MaxImageBytes is the largest image that a model is shown.
const MaxImageBytes = 10 << 20

// imageTypes are the media types that every provider takes.
var imageTypes = [...]string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// IsImageType reports whether an image of that media type can be shown to models.
func IsImageType(mediaType string) bool { return slices.Contains(imageTypes[:], mediaType) }

// Viewer is a [Model] that says whether it takes images. One that does not say so
// is shown none.
type Viewer interface {
	TakesImages() bool
}

// TakesImages reports whether m is to be shown images.
func TakesImages(m Model) bool {
	v, says := m.(Viewer)
	return says && v.TakesImages()
}
