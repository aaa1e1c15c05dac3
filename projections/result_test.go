package projections_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
)

func TestAResultAsTextNamesWhatItShows(t *testing.T) {
	t.Parallel()
	digest := events.DigestOf([]byte("x"))
	shown := result(1, 1, 1, events.ToolOK, "here").(events.ToolCompleted)
	shown.Parts = append(shown.Parts,
		events.Part{Type: events.PartImage, Name: "a.png", MediaType: "image/png", Bytes: 1, Blob: digest},
		events.Part{Type: events.PartSource, Title: "Manual", URL: "https://example.com"},
		events.Part{Type: events.PartData, JSON: `{"degrees":21}`})
	all := story{
		{events.ChatCreated{}},
		{said("i1", "look"), started(1, "i1"), asked(1, 1, 1)},
		{answered(1, 1, call(1, "look", "")), handedOut(1, 1, 1)},
		{shown, asked(1, 2, 1)},
	}
	var got strings.Builder
	if err := projections.NewTextWriter(&got, nil).WritePage(transcript(t, all.written())); err != nil {
		t.Fatal(err)
	}
	want := "     here\n     <image a.png, image/png, 1 bytes, " + string(digest) + ">\n     <source Manual https://example.com>\n     {\"degrees\":21}\n"
	if !strings.Contains(got.String(), want) {
		t.Errorf("the transcript is\n%s", got.String())
	}
}
