package streams

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAnAnswerOfTheLeaderIsReadWhole(t *testing.T) {
	t.Parallel()
	for _, body := range [][]byte{nil, []byte(`"data":"x"`), bytes.Repeat([]byte{0, 255, '"'}, 1000)} {
		answer, err := json.Marshal(map[string]any{
			"type": "io.nats.jetstream.api.v1.stream_msg_get_response",
			"message": map[string]any{
				"subject": "everturn.log.0.default.a", "seq": 7, "data": body, "time": "2026-11-29T12:00:00.123456789Z",
				"hdrs": []byte("NATS/1.0\r\nEverturn-Owes: model\r\n\r\n"),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeStored(answer)
		if err != nil {
			t.Fatal(err)
		}
		if got.Subject != "everturn.log.0.default.a" || got.Sequence != 7 || !bytes.Equal(got.Body, body) ||
			got.Get("Everturn-Owes") != "model" || got.Time.Nanosecond() != 123456789 {
			t.Errorf("got %+v with %d bytes, want %d", got, len(got.Body), len(body))
		}
	}
}

func TestAnAnswerThatIsAnErrorIsOne(t *testing.T) {
	t.Parallel()
	for answer, code := range map[string]jetstream.ErrorCode{
		`{"error":{"code":404,"err_code":10037,"description":"no \"data\":\"x\" found"}}`: 10037,
		`{"error":{"code":503,"err_code":10008}}`:                                         10008,
		`not JSON`:                               0,
		`{"message":{"seq":1,"data":"no base"}}`: 0,
	} {
		if _, err := decodeStored([]byte(answer)); err == nil || codeOf(err) != code {
			t.Errorf("%s: got %v, want code %d", answer, err, code)
		}
	}
}
