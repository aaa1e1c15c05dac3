package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// contentPath is where content of a chat is stored.
const contentPath = "/v1/chats/{chat}/content"

// Uploaded is content that a chat has now.
type Uploaded struct {
	Digest events.Digest `json:"digest"`
	Bytes  int           `json:"bytes"`
}

// uploadInput is content for a chat.
type uploadInput struct {
	Chat    string `path:"chat"`
	RawBody []byte `contentType:"application/octet-stream"`
}

// downloadInput asks for content of a chat.
type downloadInput struct {
	Chat   string `path:"chat"`
	Digest string `path:"digest"`
	Type   string `query:"type"          doc:"What it is to be shown as, if it is an image. Default: something to save." enum:"image/png,image/jpeg,image/gif,image/webp"`
	Known  string `header:"If-None-Match" hidden:"true"`
}

// contentAnswer is content as it is sent. Whoever made it may want to harm whoever
// looks at it, so a browser runs none of it.
type contentAnswer struct {
	Status      int
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Cache       string `header:"Cache-Control"`
	Vary        string `header:"Vary"`
	Policy      string `header:"Content-Security-Policy"`
	Tag         string `header:"ETag"`
	Body        []byte
}

// content makes the operations for large content.
func (a *api) content() {
	huma.Register(a.huma, huma.Operation{
		Method: http.MethodPut, Path: contentPath, OperationID: "upload",
		Summary:      "Store content of a chat, to be named in parts of the command send.",
		Responses:    responses[Uploaded](a, http.StatusOK, "It is stored."),
		MaxBodyBytes: protocol.MaxUploadBytes + 1, BodyReadTimeout: uploadTime, SkipValidateBody: true,
	}, a.upload)
	download := huma.Operation{
		Method: http.MethodGet, Path: "/v1/chats/{chat}/content/{digest}", OperationID: "download",
		Summary: "Content of a chat by its digest.", Responses: responses[anyAnswer](a, http.StatusOK, "The content."),
	}
	download.Responses["200"].Content = map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}
	huma.Register(a.huma, download, a.download)
}

func (a *api) upload(ctx context.Context, in *uploadInput) (*answer, error) {
	k, _, err := chatKey(ctx, in.Chat)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	d, err := a.chats.Upload(ctx, k, in.RawBody)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	return answerOf(http.StatusOK, Uploaded{Digest: d, Bytes: len(in.RawBody)})
}

func (a *api) download(ctx context.Context, in *downloadInput) (*contentAnswer, error) {
	k, _, err := chatKey(ctx, in.Chat)
	if err != nil {
		return nil, err
	}
	d := events.Digest(in.Digest)
	if !d.Valid() {
		return nil, problem.New(problem.CodeBadRequest, "digest: want sha256: and 64 digits of 0-9 and a-f")
	}
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	content, err := a.chats.Download(ctx, k, d)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	out := &contentAnswer{
		Status: http.StatusOK, ContentType: "application/octet-stream", Disposition: "attachment",
		Cache: "private, max-age=31536000, immutable", Vary: "Authorization, Cookie", Policy: "sandbox; default-src 'none'", Tag: `"` + in.Digest + `"`, Body: content,
	}
	if in.Type != "" {
		out.ContentType, out.Disposition = in.Type, "inline"
	}
	if in.Known == out.Tag {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out, nil
}
