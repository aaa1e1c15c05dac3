package page

import (
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/everturn/everturn/events"
)

//go:embed static
var staticFiles embed.FS

// hashChars of a file's digest tell its versions apart.
const hashChars = 12

// static are the files that are the same for everybody.
type static map[string]staticFile

type staticFile struct {
	content []byte
	kind    string
	hash    string
}

func readStatic() (static, error) {
	files := make(static)
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, fmt.Errorf("static files: %w", err)
	}
	for _, entry := range entries {
		content, err := staticFiles.ReadFile("static/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("static files: %w", err)
		}
		kind := mime.TypeByExtension(path.Ext(entry.Name()))
		switch path.Ext(entry.Name()) { // what a machine says about them may be anything
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".svg":
			kind = "image/svg+xml"
		case ".txt":
			kind = "text/plain; charset=utf-8"
		}
		files[entry.Name()] = staticFile{content: content, kind: kind, hash: events.DigestOf(content).Hex()[:hashChars]}
	}
	return files, bundle(files)
}

// scriptName is all scripts in one file. htmx looks at a page as soon as nothing else is
// to be done: an extension that came in a file of its own would at times come too late,
// and the page would never hear of anything.
const scriptName = "everturn.js"

// bundle puts the scripts together, in the order in which they need each other.
func bundle(files static) error {
	var all []byte
	for _, name := range []string{"htmx.min.js", "hx-sse.min.js", "page.js"} {
		file, ok := files[name]
		if !ok {
			return fmt.Errorf("static files: %s is missing", name)
		}
		all = append(append(all, file.content...), ";\n"...)
	}
	files[scriptName] = staticFile{content: all, kind: files["page.js"].kind, hash: events.DigestOf(all).Hex()[:hashChars]}
	return nil
}

// address is where a file is. It changes with what is in it, so that a browser may
// keep the file for good.
func (s static) address(name string) (string, error) {
	file, ok := s[name]
	if !ok {
		return "", fmt.Errorf("no static file %q", name)
	}
	return "/static/" + name + "?v=" + file.hash, nil
}

// ServeHTTP implements [http.Handler].
func (s static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == "" {
		name = strings.TrimPrefix(r.URL.Path, "/static/")
	}
	file, ok := s[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	secure(h)
	h.Set("Content-Type", file.kind)
	h.Set("ETag", `"`+file.hash+`"`)
	h.Set("Cache-Control", "public, max-age=3600")
	if r.URL.Query().Get("v") == file.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), file.hash) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(file.content) // who has gone away needs no answer
}
