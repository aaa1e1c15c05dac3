// Package skills reads the folders in which operators write skills: instructions for
// particular tasks, which models are told of and read when they need them.
package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// Limits of folders.
const (
	maxFolders   = 1024     // below one folder of skills
	maxEntries   = 1024     // of one skill's folder, with its subfolders, and those that are skipped
	maxTextBytes = 1 << 20  // of one file that is text
	maxHeadBytes = 16 << 10 // of the part of SKILL.md before its body
	sniffedBytes = 8 << 10  // by which a large file is taken for text
)

// Skill is a folder as it was read.
type Skill struct {
	events.Skill

	Texts map[events.Digest][]byte // each that the skill names
	Notes []string                 // what its author should know
}

// Load reads a skill's folder, or every skill's folder right below one that is none
// itself. The error names all that is wrong with any of them.
func Load(folder string) ([]Skill, error) {
	if is, err := isSkill(folder); err != nil {
		return nil, err
	} else if is {
		skill, err := load(folder)
		return []Skill{skill}, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	if len(entries) > maxFolders {
		return nil, fmt.Errorf("skills: %s has %d entries, at most %d are looked at", folder, len(entries), maxFolders)
	}
	var list []Skill
	var wrong []error
	for _, entry := range entries {
		if isHidden(entry.Name()) {
			continue
		}
		below := filepath.Join(folder, entry.Name())
		is, err := isSkill(below)
		var skill Skill
		if is {
			skill, err = load(below)
		}
		if err != nil {
			wrong = append(wrong, err)
		} else if is {
			list = append(list, skill)
		}
	}
	if len(list)+len(wrong) == 0 {
		return nil, fmt.Errorf("skills: %s has no %s, and no folder right below it has one", folder, chat.SkillFileName)
	}
	return list, errors.Join(wrong...)
}

// isSkill reports whether a path is that of a skill's folder. It is also if what makes
// it one cannot be read: whoever wrote that is told, and not left to wonder.
func isSkill(folder string) (bool, error) {
	_, err := os.Lstat(filepath.Join(folder, chat.SkillFileName))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	}
	return false, fmt.Errorf("skills: %w", err)
}

// load reads one skill's folder. Nothing outside of it is read: a link that leads out
// is an error.
func load(folder string) (Skill, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return Skill{}, fmt.Errorf("skills: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Skill{}, fmt.Errorf("skills: %w", err)
	}
	defer root.Close()
	path := filepath.Join(folder, chat.SkillFileName)
	source, err := readAll(root, chat.SkillFileName, maxHeadBytes+events.MaxSkillTextBytes)
	if err != nil {
		return Skill{}, fmt.Errorf("%s: %w", path, err)
	}
	head, body, err := parse(path, filepath.Base(absolute), source)
	if err != nil {
		return Skill{}, err
	}
	skill := Skill{Skill: events.Skill{Name: head.Name, Description: head.Description}, Texts: map[events.Digest][]byte{}}
	if err := skill.addFiles(root); err != nil {
		return Skill{}, fmt.Errorf("%s: %w", folder, err)
	}
	text := body + about(skill.Files)
	if len(text) > events.MaxSkillTextBytes {
		return Skill{}, fmt.Errorf("%s: %d bytes of text, at most %d are allowed: move parts of it into files beside it, and name them in it",
			path, len(text), events.MaxSkillTextBytes)
	}
	skill.Digest, skill.Bytes = skill.keep(text)
	return skill, nil
}

// keep has a text among those of the skill.
func (s *Skill) keep(text string) (events.Digest, int64) {
	d := events.DigestOf([]byte(text))
	s.Texts[d] = []byte(text)
	return d, int64(len(text))
}

// about tells the model at the end of a skill which files it has.
func about(files []events.SkillFile) string {
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nFiles of this skill, which view_skill shows by their path:\n")
	for _, f := range files {
		switch {
		case f.Digest == "":
			fmt.Fprintf(&b, "- %s (no text, not shown)\n", f.Path)
		case f.Whole > 0:
			fmt.Fprintf(&b, "- %s (without its middle)\n", f.Path)
		default:
			fmt.Fprintf(&b, "- %s\n", f.Path)
		}
	}
	return b.String()
}

// addFiles reads what lies beside SKILL.md and below. What begins with a dot is none
// of it.
func (s *Skill) addFiles(root *os.Root) error {
	seen := 0
	err := fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxEntries {
			return fmt.Errorf("has more than %d entries", maxEntries)
		}
		switch {
		case path == "." || path == chat.SkillFileName:
			return nil
		case isHidden(entry.Name()):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case len(s.Files) == events.MaxSkillFiles:
			return fmt.Errorf("has more than %d files beside %s", events.MaxSkillFiles, chat.SkillFileName)
		case len(path) > events.MaxSkillPathBytes || events.RepairText(path) != path || strings.ContainsAny(path, "\n\t"):
			return fmt.Errorf("%.80q: the path is longer than %d bytes, or has characters that are not text", path, events.MaxSkillPathBytes)
		}
		return s.addFile(root, path)
	})
	slices.SortFunc(s.Files, func(a, b events.SkillFile) int { return strings.Compare(a.Path, b.Path) })
	return err
}

func (s *Skill) addFile(root *os.Root, path string) error {
	info, err := root.Stat(path) // of what a link leads to, and so an error if that is outside
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", path)
	}
	head, err := readAll(root, path, -sniffedBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !looksLikeText(head) {
		s.Files = append(s.Files, events.SkillFile{Path: path, Bytes: info.Size()})
		s.Notes = append(s.Notes, path+" is no text: the model is told of it, and cannot read it")
		return nil
	}
	content, err := readAll(root, path, maxTextBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !isText(content) {
		s.Files = append(s.Files, events.SkillFile{Path: path, Bytes: info.Size()})
		s.Notes = append(s.Notes, path+" is no text: the model is told of it, and cannot read it")
		return nil
	}
	whole := events.RepairText(string(content))
	text := events.CutMiddle(whole, events.MaxSkillTextBytes, func(gone int) string {
		return fmt.Sprintf("\n[%d bytes of %s, which has %d, are left out here]\n", gone, path, len(whole))
	})
	f := events.SkillFile{Path: path}
	if f.Digest, f.Bytes = s.keep(text); len(text) < len(whole) {
		f.Whole = int64(len(whole))
		s.Notes = append(s.Notes, fmt.Sprintf("%s has %d bytes: the model reads its beginning and its end, %d bytes in all", path, len(whole), len(text)))
	}
	s.Files = append(s.Files, f)
	return nil
}

// readAll reads a file of at most so many bytes; with less than 0, the beginning of one
// of any size.
func readAll(root *os.Root, path string, limit int) ([]byte, error) {
	info, err := root.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // to open another kind may take for ever
		return nil, errors.New("is no file")
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if limit < 0 {
		return io.ReadAll(io.LimitReader(file, int64(-limit)))
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(content) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return content, err
}

// looksLikeText judges by a beginning, which may end within a character.
func looksLikeText(head []byte) bool {
	for n := 0; n < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); n++ {
		head = head[:len(head)-1]
	}
	return isText(head)
}

func isText(content []byte) bool { return utf8.Valid(content) && !bytes.Contains(content, []byte{0}) }

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }
