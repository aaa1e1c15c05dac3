package declared_test

import (
	"testing"

	"github.com/everturn/everturn/toolrunner"
)

func TestAProgramIsGivenTheArgumentsAndItsCall(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`read -r line; echo "$line"; cat; echo "$EVERTURN_IDEMPOTENCY_KEY $EVERTURN_TENANT $EVERTURN_CHAT $EVERTURN_CALL $EVERTURN_TOOL"; pwd`)
	p.both(program, "{\"a\":\n 1,\"b\": \"x y\"}", func(how string, out toolrunner.Output, err error) {
		want := "{\"a\":1,\"b\":\"x y\"}\nkey-1 acme c1 3.2.1 program\n" + p.workspace + "\n"
		if err != nil || out.IsError || out.Text != want {
			t.Errorf("%s: %+v, %v", how, out, err)
		}
	})
}
