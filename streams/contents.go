package streams

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Contents are the queries for content: what clients upload and download goes
// through to the orchestrators, who keep it.
func (q *Queries) Contents() map[string]Query {
	return map[string]Query{protocol.QueryUpload: q.upload, protocol.QueryDownload: q.download}
}

func (q *Queries) upload(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	var u protocol.UploadQuery
	if err := decodeQuery(body, &u); err != nil {
		return nil, err
	}
	if u.Import {
		return nil, &protocol.RefusedError{Code: events.CodeBadCommand, Detail: "import: what is imported is uploaded by operators"}
	}
	var a protocol.UploadAnswer
	return q.passOn(ctx, events.Key{Tenant: tenant, Chat: u.Chat}, protocol.UploadSubject, u.Upload, &a, func() (events.Code, string) {
		return a.Code, a.Error
	})
}

func (q *Queries) download(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	var d protocol.DownloadQuery
	if err := decodeQuery(body, &d); err != nil {
		return nil, err
	}
	var a protocol.DownloadAnswer
	return q.passOn(ctx, events.Key{Tenant: tenant, Chat: d.Chat}, protocol.DownloadSubject, d.Download, &a, func() (events.Code, string) {
		return a.Code, a.Error
	})
}

// decodeQuery reads the body of a query as strictly as that of a command.
func decodeQuery(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &protocol.RefusedError{Code: events.CodeBadCommand, Detail: "body: " + err.Error()}
	}
	return nil
}

// passOn asks the orchestrators and gives their answer, once it is in answer. A no
// is what failed says then.
func (q *Queries) passOn(
	ctx context.Context, k events.Key, subject func(events.Key) string, question, answer any, failed func() (events.Code, string),
) ([]byte, error) {
	if err := k.Validate(); err != nil {
		return nil, &protocol.RefusedError{Code: events.CodeBadCommand, Detail: err.Error()}
	}
	if err := q.c.ask(ctx, subject(k), question, answer); err != nil {
		return nil, err // nobody is there now, or they do not answer in time
	}
	if code, why := failed(); why != "" {
		if code == "" {
			code = events.CodeUnavailable // of an orchestrator that does not say which kind of no it is
		}
		return nil, &protocol.RefusedError{Code: code, Detail: why}
	}
	return json.Marshal(answer)
}
