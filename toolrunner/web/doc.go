// Package web gets what lies at an address of the web, for somebody who is not to be
// trusted with the choice of the address.
//
// [Getter] asks over HTTP and reaches nothing but the public internet and what its
// operator has allowed. What counts is the address of each connection, in the moment
// before it is made: not a name, which may lead elsewhere the next time, and not the
// first address of a chain of redirects. [Text] makes text of a page.
package web
