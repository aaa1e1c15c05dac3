// Vercel's AI SDK, with its provider for whatever speaks OpenAI's API.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

const provider = createOpenAICompatible({ name: 'everturn', baseURL: process.env.EVERTURN_URL + '/v1', apiKey: process.env.EVERTURN_TOKEN, includeUsage: true });
const model = provider('default');
const weather = (seen) => tool({
  description: 'The weather.',
  inputSchema: jsonSchema({ type: 'object', properties: { place: { type: 'string' } } }),
  execute: async ({ place }) => { seen.push(place); return `hail in ${place}`; },
});

test('text, reasoning, usage and why it ended', async () => {
  const r = await generateText({ model, system: 'Be brief.', prompt: 'think, sdk' });
  assert.equal(r.text, 'Thought about it.');
  assert.equal(r.reasoningText, 'Let me see.');
  assert.equal(r.finishReason, 'stop');
  assert.equal(r.usage.totalTokens, 37);
});

test('a stream', async () => {
  const r = streamText({ model, prompt: 'think, sdk, in a stream' });
  let text = '';
  for await (const part of r.textStream) text += part;
  assert.equal(text, 'Thought about it.');
  assert.equal(await r.reasoningText, 'Let me see.');
  assert.equal(await r.finishReason, 'stop');
  assert.equal((await r.usage).totalTokens, 37);
});

test('a conversation that the client holds', async () => {
  const messages = [{ role: 'user', content: 'sdk, first' }];
  const first = await generateText({ model, messages });
  messages.push(...first.response.messages, { role: 'user', content: 'sdk, second' });
  const second = await generateText({ model, messages });
  assert.equal(second.text, 'You wrote: sdk, second');
  assert.equal(second.response.headers['everturn-chat'], first.response.headers['everturn-chat']);
});

for (const [name, run] of [['in one piece', generateText], ['in streams', streamText]]) {
  test(`the client runs its own tool, ${name}`, async () => {
    const seen = [];
    const r = await run({ model, prompt: `Outside, ${name}?`, tools: { weather: weather(seen) }, stopWhen: stepCountIs(3) });
    assert.equal(await r.text, 'It is: hail in Oslo');
    assert.deepEqual(seen, ['Oslo']);
    assert.equal((await r.steps).length, 2);
  });
}

test('errors', async () => {
  await assert.rejects(generateText({ model: provider('nobody'), prompt: 'x', maxRetries: 0 }), (e) => APICallError.isInstance(e) && e.statusCode === 404);
  await assert.rejects(generateText({ model, prompt: 'quota, sdk', maxRetries: 0 }), (e) => APICallError.isInstance(e) && e.statusCode === 429 && e.isRetryable);
});

test('an error after the first words', async () => {
  let failure;
  const r = streamText({ model, prompt: 'break, sdk', maxRetries: 0, onError: ({ error }) => { failure = error; } });
  let text = '';
  for await (const part of r.textStream) text += part;
  assert.equal(text, 'It begins');
  assert.match(String(failure?.message ?? failure), /the key was taken back/);
});

test('a client that goes away stops nothing', async () => {
  const abort = new AbortController();
  const r = streamText({ model, prompt: 'long, sdk', abortSignal: abort.signal });
  for await (const part of r.textStream) {
    if (part) abort.abort();
  }
  const again = await generateText({ model, prompt: 'long, sdk' });
  assert.equal(again.text, 'It begins and it ends.');
});

test('many at a time', async () => {
  const all = await Promise.all([...Array(20).keys()].map((i) => generateText({ model, prompt: `sdk, parallel ${i}.` })));
  assert.deepEqual(all.map((r) => r.text), [...Array(20).keys()].map((i) => `You wrote: sdk, parallel ${i}.`));
});
