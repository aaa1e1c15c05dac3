// The library of OpenAI itself, as programs use it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const baseURL = process.env.EVERTURN_URL + '/v1';
const client = new OpenAI({ baseURL, apiKey: process.env.EVERTURN_TOKEN });
const user = (content) => ({ role: 'user', content });
const ask = (body, options) => client.chat.completions.create({ model: 'default', ...body }, options);
const tools = [{
  type: 'function',
  function: { name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: { place: { type: 'string' } } } },
}];

// whole reads a stream.
async function whole(stream) {
  const seen = { content: '', reasoning: '', finish: [], usage: null, calls: [] };
  for await (const chunk of stream) {
    if (chunk.usage) seen.usage = chunk.usage;
    for (const choice of chunk.choices) {
      seen.content += choice.delta.content ?? '';
      seen.reasoning += choice.delta.reasoning_content ?? '';
      seen.calls.push(...(choice.delta.tool_calls ?? []));
      if (choice.finish_reason) seen.finish.push(choice.finish_reason);
    }
  }
  return seen;
}

test('models are listed', async () => {
  const list = await client.models.list();
  assert.ok(list.data.some((m) => m.id === 'default' && m.object === 'model'));
});

test('a completion, with usage and reasoning', async () => {
  const c = await ask({ messages: [{ role: 'developer', content: 'Be brief.' }, user('think')] });
  assert.equal(c.choices[0].message.content, 'Thought about it.');
  assert.equal(c.choices[0].message.reasoning_content, 'Let me see.');
  assert.equal(c.choices[0].finish_reason, 'stop');
  assert.deepEqual(
    [c.usage.prompt_tokens, c.usage.completion_tokens, c.usage.prompt_tokens_details.cached_tokens, c.usage.completion_tokens_details.reasoning_tokens],
    [25, 12, 5, 4]);
});

test('a stream, with usage and without', async () => {
  const withUsage = await whole(await ask({ messages: [user('think of a stream')], stream: true, stream_options: { include_usage: true } }));
  assert.equal(withUsage.content, 'Thought about it.');
  assert.equal(withUsage.reasoning, 'Let me see.');
  assert.deepEqual(withUsage.finish, ['stop']);
  assert.equal(withUsage.usage.total_tokens, 37);
  const without = await whole(await ask({ messages: [user('hello')], stream: true }));
  assert.equal(without.content, 'You wrote: hello');
  assert.equal(without.usage, null);
});

test('a conversation that the client holds goes on in one chat', async () => {
  const messages = [user('first')];
  const first = await ask({ messages }).withResponse();
  messages.push(first.data.choices[0].message, user('second'));
  const second = await ask({ messages }).withResponse();
  assert.equal(second.data.choices[0].message.content, 'You wrote: second');
  assert.equal(second.response.headers.get('everturn-chat'), first.response.headers.get('everturn-chat'));
});

test('a chat that is named needs the newest words only', async () => {
  const metadata = { chat_id: 'npm-openai' };
  await ask({ messages: [user('one')], metadata });
  const { response } = await ask({ messages: [user('two')], metadata }).withResponse();
  assert.equal(response.headers.get('everturn-chat'), 'npm-openai');
});

test('the client runs its own tool', async () => {
  const messages = [user('What is it like outside?')];
  const first = await ask({ messages, tools });
  const { message, finish_reason } = first.choices[0];
  assert.equal(finish_reason, 'tool_calls');
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), { place: 'Oslo' });
  messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'sunny' });
  const second = await ask({ messages, tools });
  assert.equal(second.choices[0].message.content, 'It is: sunny');
});

test('the library runs tools by itself, from streams', async () => {
  let asked = 0;
  const runner = client.chat.completions.runTools({
    model: 'default',
    stream: true,
    messages: [user('And tomorrow?')],
    tools: [{ type: 'function', function: { ...tools[0].function, parse: JSON.parse, function: ({ place }) => { asked++; return `rain in ${place}`; } } }],
  });
  assert.equal(await runner.finalContent(), 'It is: rain in Oslo');
  assert.equal(asked, 1);
});

test('errors have the classes of the library', async () => {
  await assert.rejects(new OpenAI({ baseURL, apiKey: 'wrong' }).models.list(), OpenAI.AuthenticationError);
  await assert.rejects(ask({ model: 'nobody', messages: [user('x')] }), (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found');
  await assert.rejects(ask({ messages: [] }), (e) => e instanceof OpenAI.BadRequestError && e.type === 'invalid_request_error');
  await assert.rejects(ask({ messages: [user('x')], n: 2 }), OpenAI.BadRequestError);
  await assert.rejects(ask({ messages: [user('quota')] }), (e) => e instanceof OpenAI.RateLimitError && e.headers.get('retry-after') > 0);
});

test('an error after the first words ends the stream', async () => {
  const stream = await ask({ messages: [user('break')], stream: true });
  let content = '';
  await assert.rejects(async () => {
    for await (const chunk of stream) content += chunk.choices[0].delta.content ?? '';
  }, /the key was taken back/);
  assert.equal(content, 'It begins');
});

test('a client that goes away stops nothing', async () => {
  const messages = [user('long, please')];
  const stream = await ask({ messages, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0].delta.content) break; // ends the request
  }
  assert.equal(stream.controller.signal.aborted, true);
  const again = await ask({ messages });
  assert.equal(again.choices[0].message.content, 'It begins and it ends.');
});

test('many at a time', async () => {
  const answers = await Promise.all([...Array(20).keys()].map((i) => streamed(i)));
  assert.deepEqual(answers, [...Array(20).keys()].map((i) => `You wrote: parallel ${i}.`));
});

async function streamed(i) {
  return (await whole(await ask({ messages: [user(`parallel ${i}.`)], stream: true }))).content;
}
