// Package events holds the facts an Everturn chat is made of: every event that
// can stand in a log, the commit that carries events to the log, the parts that
// content is made of, and the words (statuses, classes, codes) they use.
//
// It is the lowest package of the project and imports none of it. What is
// written here is data for ever: a wire name, once released, keeps its meaning,
// and testdata/wire holds one frozen file for each.
package events
