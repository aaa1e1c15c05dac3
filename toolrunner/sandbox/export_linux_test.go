package sandbox

// AsRoot is the same sandbox by the plan for systems without user namespaces.
func (s *Sandbox) AsRoot() *Sandbox { return &Sandbox{cfg: s.cfg, plan: planRoot} }
