/**
 * `npm start`, for now: the journal at work. One process writes a conversation and is killed in the middle of a tool
 * call; another opens the same file, sees exactly how far things had come, and ends the turn. No model is involved.
 * Run with `write FILE` it is the process that gets killed.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import {
  type Entry,
  LOCAL_OWNER,
  loadSession,
  type Message,
  processIdentity,
  type Store,
  systemIds,
  transcript,
} from '../src/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'

const key = { ...LOCAL_OWNER, contextId: 'demo' }
const usage = { inputTokens: 120, outputTokens: 18, cachedTokens: 0, costUsd: 0 }
const lease = { driver: `${processIdentity()}#demo`, leaseMs: 30_000 }

const [mode, file] = process.argv.slice(2)
if (mode === 'write' && file !== undefined) await write(file)
else await show()

/** Says what it intends to do, and is killed while doing it. */
async function write(path: string): Promise<void> {
  const store = sqliteStore(path)
  const begun = await store.append({
    key,
    id: systemIds.next('append'),
    since: 0,
    inbox: [{ type: 'input', key: 'hello', data: { message: 'Please order two bags of cement.' } }],
    claim: lease,
    entries: [
      { type: 'turn.start', turn: 1, takes: ['hello'], data: { principal: LOCAL_OWNER } },
      { type: 'model.start', turn: 1, data: { model: 'none', iteration: 1 } },
    ],
  })
  const call = {
    type: 'tool-call',
    callId: 'call_1',
    tool: 'order',
    args: { item: 'cement', bags: 2 },
  } as const
  const intent = {
    callId: call.callId,
    tool: call.tool,
    args: call.args,
    idempotencyKey: 'demo/1/call_1',
    replay: 'never',
  } as const
  await store.append({
    key,
    id: systemIds.next('append'),
    since: begun.last,
    epoch: begun.epoch,
    entries: [
      {
        type: 'model.end',
        turn: 1,
        data: { content: [{ type: 'text', text: 'I will order that.' }, call], finish: 'tool-calls', usage },
      },
      { type: 'tool.start', turn: 1, data: intent },
    ],
  })
  process.stdout.write('ordering\n')
  setInterval(() => undefined, 1000)
}

async function show(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
  const path = join(folder, 'demo.db')
  try {
    title(
      'A process takes the message, writes down what it is about to do, and starts a tool. Then: kill -9.',
    )
    console.log(`  killed by ${await writeAndKill(path)}`)
    const store = sqliteStore(path)
    title('This process opens the same file. Every line that was acknowledged is there:')
    for (const entry of await store.read(key)) console.log(`  ${line(entry)}`)
    const open = (await loadSession(store, key)).open
    title(
      `Turn ${open?.turn} is still open, and the call "${open?.calls[0]?.tool}" is ${open?.calls[0]?.state}: it may have happened.`,
    )
    console.log(
      '  Its owner is dead, so we may take over at once. We do not order again; we say what we do not know.',
    )
    await finish(store)
    title('The conversation as the next model would read it:')
    for (const message of transcript(await store.read(key))) console.log(`  ${spoken(message)}`)
    await store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function writeAndKill(path: string): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'write', path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.once('data', () => child.kill('SIGKILL'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      signal === null ? reject(new Error(`the writer ended with ${code}`)) : resolve(signal),
    )
  })
}

async function finish(store: Store): Promise<void> {
  const { last, epoch } = await store.append({ key, id: systemIds.next('append'), since: 0, claim: lease })
  const text = 'The order was begun and I cannot tell whether it went through. Shall I check with the shop?'
  await store.append({
    key,
    id: systemIds.next('append'),
    since: last,
    epoch,
    entries: [
      {
        type: 'tool.end',
        turn: 1,
        data: { callId: 'call_1', status: 'unknown', output: 'Started; its outcome is unknown.' },
      },
      { type: 'model.start', turn: 1, data: { model: 'none', iteration: 2 } },
      { type: 'model.end', turn: 1, data: { content: [{ type: 'text', text }], finish: 'stop', usage } },
      { type: 'turn.end', turn: 1, data: { outcome: 'stop', usage, durationMs: 0 } },
    ],
  })
}

function line({ seq, type, data }: Entry): string {
  const text = JSON.stringify(data)
  const room = 100 - type.length
  return `${dim(String(seq).padStart(2))} ${type.padEnd(12)} ${dim(text.length > room ? `${text.slice(0, room)}…` : text)}`
}

function spoken({ role, content }: Message): string {
  const parts =
    typeof content === 'string'
      ? [content]
      : content.map((part) => ('text' in part ? part.text : JSON.stringify(part)))
  return `${dim(role.padEnd(10))} ${parts.join(dim(' · '))}`
}

function title(text: string): void {
  console.log(`\n${styleText('bold', text, { stream: process.stdout })}`)
}

function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout })
}
