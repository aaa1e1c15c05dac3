// Package npmclients tries the gateway with clients of OpenAI's API that nobody here
// wrote: the npm packages openai and ai, at the versions in package-lock.json. Run it
// with make npmclients.
package npmclients
