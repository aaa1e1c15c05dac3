package roles

import (
	"crypto/rand"
	"encoding/base64"
)

// passwordBytes of chance are in a password.
const passwordBytes = 32

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

func newPassword() string {
	secret := make([]byte, passwordBytes)
	_, _ = rand.Read(secret) // it crashes the process rather than fail
	return base64.RawURLEncoding.EncodeToString(secret)
}
