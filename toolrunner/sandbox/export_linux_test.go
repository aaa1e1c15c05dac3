package sandbox

import "slices"

// Shown lists what every command is shown of the host.
func Shown() []string { return slices.Concat(systemFolders(), settingsShown()) }

// AsRoot is the same sandbox by the plan for systems without user namespaces.
func (s *Sandbox) AsRoot() *Sandbox { return &Sandbox{cfg: s.cfg, plan: planRoot} }
