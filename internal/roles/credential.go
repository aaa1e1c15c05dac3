package roles

import "crypto/rand"

// credentials gives every user a password, the known one or a new one, and
// lists the users.
func credentials(accounts []account, known map[string]string) []User {
	var users []User
	for _, a := range accounts {
		for i := range a.users {
			u := &a.users[i]
			u.Password = known[u.Name]
			if u.Password == "" {
				u.Password = newPassword()
			}
			users = append(users, *u)
		}
	}
	return users
}

// newPassword gives a password that no shell and no flag takes for anything else.
func newPassword() string { return rand.Text() }
