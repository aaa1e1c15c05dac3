package toolrunner

import (
	"fmt"

	"github.com/everturn/everturn/events"
)

// cutMarker says what is missing and where the whole is. It is read by models
// and by people.
func cutMarker(total int, whole events.Digest, stored int) func(gone int) string {
	where := "the whole could not be stored"
	switch {
	case whole != "" && stored < total:
		where = fmt.Sprintf("the first %d bytes are stored as %s", stored, whole)
	case whole != "":
		where = "the whole is stored as " + string(whole)
	}
	return func(gone int) string {
		return fmt.Sprintf("\n\n[%d of %d bytes were cut out here; %s]\n\n", gone, total, where)
	}
}
