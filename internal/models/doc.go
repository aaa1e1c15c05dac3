// Package models knows which models there are to be asked: those of a
// models.yaml, or those that keys in the environment give, or the scripted one.
//
// It puts what is said about a model around its adapter: what it costs, what it
// cannot do, and who is asked when it does not answer. docs/MODELS.md describes
// the file to users.
package models
