// Package doctest holds tests of what is written for people: that links lead
// somewhere and that commands named on a page exist.
package doctest
