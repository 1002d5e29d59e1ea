/** A conversation as the page shows it: a fold of the events that the client gives. Pure. */
import type { ClientEvent } from 'holdfast/client'
import { answerIn, type Source } from './source.ts'
import {
  type Delta,
  type Entry,
  isObject,
  type Json,
  type JsonObject,
  nameIn,
  type RequestData,
  textIn,
} from './types.ts'
import { messageIn } from './values-text.ts'
import { reasonText } from './visible-text.ts'

export type CallStatus =
  | 'requested'
  | 'running'
  | 'waiting'
  | 'ok'
  | 'error'
  | 'rejected'
  | 'unknown'
  | 'not-run'
  | 'cancelled'

export interface CallItem {
  readonly type: 'call'
  readonly id: string
  /** The tool, the node of a graph, or an effect in one. */
  readonly kind: 'tool' | 'node' | 'effect'
  readonly name: string
  readonly args?: Json
  readonly status: CallStatus
  readonly output?: Json
  /** The result for people. */
  readonly display?: string
  readonly progress?: Json
  /** The reply of a sub-agent as it streams. */
  readonly below?: string
}

export interface RequestItem {
  readonly type: 'request'
  readonly id: string
  readonly request: RequestData
  /** Absent while it is open. */
  readonly how?: string
  readonly value?: Json
}

interface NoticeItem {
  readonly type: 'notice'
  readonly id: string
  readonly tone: 'info' | 'warning' | 'error'
  readonly text: string
  /** The turn can go on. */
  readonly canContinue?: true
}

interface ReplyItem {
  readonly type: 'reply'
  readonly id: string
  readonly text: string
  readonly reasoning: string
  /** Of a research answer. */
  readonly sources?: readonly Source[]
  /** A node of a graph has written it on the way to the reply. */
  readonly isStep?: true
}

export interface UserItem {
  readonly type: 'user'
  readonly id: string
  /** Empty for values without a message. */
  readonly text: string
  /** Of a run, if they hold more than the text. */
  readonly values?: Json
}

export type Item = UserItem | ReplyItem | CallItem | RequestItem | NoticeItem

export interface LiveCall {
  readonly callId: string
  readonly tool: string
  readonly text: string
}

export interface Live {
  readonly text: string
  readonly reasoning: string
  /** Arguments of calls as they stream. */
  readonly calls: readonly LiveCall[]
}

export interface ConversationView {
  readonly items: readonly Item[]
  readonly entries: readonly Entry[]
  /** The reply under way. */
  readonly live?: Live | undefined
  readonly isRunning: boolean
  /** Turns that have ended: the list of conversations and the state are stale after each. */
  readonly ended: number
  /** The newest words for readers of screens: of the reply under way, or of one that came while they read. */
  readonly said: string
}

export const EMPTY: ConversationView = { items: [], entries: [], isRunning: false, ended: 0, said: '' }

const SILENT: Live = { text: '', reasoning: '', calls: [] }

export function withEvents(view: ConversationView, events: readonly ClientEvent[]): ConversationView {
  const fold = new Fold(view)
  for (const event of events) fold.add(event)
  return fold.view
}

/** The first message of the person among the first entries of a conversation. */
export function titleOf(entries: readonly Entry[]): string | undefined {
  const { items } = withEvents(
    EMPTY,
    entries.map((entry) => ({ type: 'entry', entry })),
  )
  return items.find((item): item is UserItem => item.type === 'user' && item.text !== '')?.text
}

export function isOpenRequest(item: Item): boolean {
  return item.type === 'request' && item.how === undefined
}

class Fold {
  readonly #items: Item[]
  readonly #entries: Entry[]
  #live: Live | undefined
  #isRunning: boolean
  #ended: number
  #said: string

  constructor({ items, entries, live, isRunning, ended, said }: ConversationView) {
    this.#items = [...items]
    this.#entries = [...entries]
    this.#live = live
    this.#isRunning = isRunning
    this.#ended = ended
    this.#said = said
  }

  get view(): ConversationView {
    return {
      items: this.#items,
      entries: this.#entries,
      live: this.#live,
      isRunning: this.#isRunning,
      ended: this.#ended,
      said: this.#said,
    }
  }

  add(event: ClientEvent): void {
    this.#addEvent(event)
    if (this.#live?.text) this.#said = this.#live.text
  }

  #addEvent(event: ClientEvent): void {
    if (event.type === 'entry') this.#entry(event.entry)
    else if (event.type === 'delta') this.#delta(event.event)
    else if (event.type === 'text') {
      const { text, reasoning = '', calls = [] } = event
      this.#live = { text, reasoning, calls }
    }
    // The text so far comes again after each connect, if there is one.
    else if (event.type === 'connected' && this.#live !== undefined) this.#live = SILENT
  }

  #entry(entry: Entry): void {
    this.#entries.push(entry)
    const { type, data, seq, turn } = entry
    if (type === 'take' && turn === 0) this.#refused(entry)
    else if (type.startsWith('turn.') || type === 'input' || type === 'answer') this.#turn(entry)
    else if (type.startsWith('model.')) this.#model(entry)
    else if (/^(tool|effect|node|graph)\./.test(type)) this.#call(entry)
    else if (type.startsWith('request.')) this.#request(entry)
    else if (type === 'import') this.#imported(entry)
    else if (type === 'warning') this.#notice(seq, 'warning', textIn(data['message']) ?? '')
    else if (type === 'compact') this.#notice(seq, 'info', 'Older messages were summarised for the model.')
    else if (type === 'clear') this.#notice(seq, 'info', 'The model has forgotten the messages above.')
  }

  #turn({ type, data, seq }: Entry): void {
    this.#isRunning = type !== 'turn.end'
    if (type === 'input') {
      this.#items.push(userItem(seq, data))
      this.#said = ''
    }
    if (type !== 'turn.end') return
    // The reply of a flow, which no entry holds. A model's own is an entry by now, unless it was cut off.
    const isCancelled = data['outcome'] === 'cancelled'
    const isCut = isCancelled || data['outcome'] === 'failed'
    if (this.#live !== undefined && !isCut) this.#reply({ id: `entry-${seq}`, text: this.#live.text })
    this.#live = undefined
    this.#ended += 1
    if (isCancelled) this.#setNodes('cancelled')
    this.#outcome(seq, data)
  }

  /** A message or an answer that begins no turn. Of one inside of a turn, the turn has a warning. */
  #refused({ data, seq }: Entry): void {
    this.#isRunning = false
    this.#notice(seq, 'warning', `Not used: ${textIn(data['reason']) ?? ''}`)
  }

  /** Adds a reply, in the place of a step of the same text if the turn has one. */
  #reply({ id, text, sources = [] }: Pick<ReplyItem, 'id' | 'text' | 'sources'>): void {
    if (text === '') return
    const since = this.#items.findLastIndex((item) => item.type === 'user')
    const at = this.#items.findLastIndex((item) => item.type === 'reply' && item.text === text)
    const reply: ReplyItem = { type: 'reply', id, text, reasoning: '', sources }
    const known = at > since ? this.#items[at] : undefined
    if (known?.type !== 'reply') this.#items.push(reply)
    else if (known.isStep) this.#items[at] = reply
    this.#said = `${text}\n`
  }

  #outcome(seq: number, data: JsonObject): void {
    const { outcome, limit, maximum, error } = data
    if (outcome === 'cancelled') this.#notice(seq, 'info', 'The turn was cancelled.')
    if (outcome === 'failed') this.#stopped(seq, 'error', reasonText(error ?? 'The turn failed.'))
    if (outcome === 'limit' || outcome === 'max-iterations') {
      const name = textIn(limit) ?? 'iterations'
      const most = maximum === undefined ? '' : ` (${JSON.stringify(maximum)})`
      this.#stopped(seq, 'warning', `The turn reached its limit of ${name}${most}.`)
    }
  }

  #model({ type, data, seq }: Entry): void {
    this.#live = type === 'model.start' ? SILENT : undefined
    if (type !== 'model.end') return
    this.#parts(`entry-${seq}`, data['content'])
    if (data['error'] !== undefined)
      this.#notice(seq, 'warning', `The model failed: ${reasonText(data['error'])}`)
  }

  /** The texts and calls of a message of a model. */
  #parts(id: string, content: Json | undefined, step: Pick<ReplyItem, 'isStep'> = {}): void {
    const parts = objectsIn(content)
    const [text, reasoning] = [joined(parts, 'text'), joined(parts, 'reasoning')]
    if (text !== '' || reasoning !== '') this.#items.push({ type: 'reply', id, text, reasoning, ...step })
    if (text !== '' && !step.isStep) this.#said = `${text}\n`
    for (const { type: kind, callId, tool, args } of parts)
      if (kind === 'tool-call')
        this.#put({
          type: 'call',
          id: nameIn(callId),
          kind: 'tool',
          name: nameIn(tool),
          args: args ?? null,
          status: 'requested',
        })
  }

  #call({ type, data, seq }: Entry): void {
    const { callId, task, tool, node, key, args, status, output, display, update, error } = data
    if (type === 'tool.start')
      this.#change(nameIn(callId), { name: nameIn(tool), args: args ?? null, status: 'running' })
    if (type === 'effect.start')
      this.#put({ type: 'call', id: nameIn(callId), kind: 'effect', name: nameIn(key), status: 'running' })
    if (type === 'tool.end' || type === 'effect.end' || type === 'tool.late')
      this.#change(nameIn(callId), {
        status: status as CallStatus,
        output: output ?? null,
        ...(typeof display === 'string' ? { display } : {}),
      })
    if (type === 'graph.step') for (const each of data['tasks'] as readonly JsonObject[]) this.#task(each)
    if (type === 'node.end')
      this.#change(nameIn(task), {
        name: nameIn(node),
        status: error === undefined ? 'ok' : 'error',
        output: error ?? update ?? null,
      })
    if (type === 'node.end' && error === undefined) this.#written(seq, update)
  }

  /** The answer and the messages that a node has written. */
  #written(seq: number, update: Json | undefined): void {
    const answer = answerIn(update)
    if (answer !== undefined) this.#reply({ id: `entry-${seq}`, ...answer })
    const messages = objectsIn(isObject(update) ? update['messages'] : undefined)
    for (const [at, { role, content }] of messages.entries()) {
      if (role === 'assistant' && joined(objectsIn(content), 'text') !== answer?.text)
        this.#parts(`entry-${seq}-${at}`, content, { isStep: true })
      if (role === 'tool')
        for (const { callId, status, output } of objectsIn(content))
          this.#change(nameIn(callId), { status: status as CallStatus, output: output ?? null })
    }
  }

  #task({ task, node, input }: JsonObject): void {
    const item = {
      type: 'call',
      id: nameIn(task),
      kind: 'node',
      name: nameIn(node),
      status: 'running',
    } as const
    this.#put(input === undefined ? item : { ...item, args: input })
  }

  #request({ type, data }: Entry): void {
    const id = nameIn(data['requestId'])
    const request = data as unknown as RequestData
    if (type === 'request.start') {
      this.#put({ type: 'request', id, request })
      // The id of a request from below names the calls that lead to it.
      for (const callId of id.split('/')) this.#change(callId, { status: 'waiting' })
      return
    }
    const at = this.#items.findLastIndex((item) => item.type === 'request' && item.id === id)
    const open = this.#items[at]
    if (open?.type !== 'request') return
    this.#items[at] = { ...open, how: nameIn(data['how']), value: data['value'] ?? null }
    for (const task of id.split('/')) this.#afterRequest(task, data['how'])
  }

  /** A node goes on once nothing that it has asked is open. Calls of tools have entries of their own for that. */
  #afterRequest(task: string, how: Json | undefined): void {
    const asks = (item: Item): boolean => isOpenRequest(item) && item.id.split('/').includes(task)
    if (how === 'cancelled') this.#setNodes('cancelled', task)
    else if (!this.#items.some(asks)) this.#setNodes('running', task)
  }

  /** Changes the nodes of this task, or of all, that have not ended. */
  #setNodes(status: 'running' | 'cancelled', task?: string): void {
    for (const [at, item] of this.#items.entries()) {
      const isNode = item.type === 'call' && item.kind === 'node' && (task ?? item.id) === item.id
      if (isNode && (item.status === 'waiting' || item.status === 'running'))
        this.#items[at] = { ...item, status }
    }
  }

  #imported({ data, seq }: Entry): void {
    for (const [at, { role, content }] of objectsIn(data['messages']).entries()) {
      const [id, text] = [`entry-${seq}-${at}`, contentText(content)]
      if (role === 'user') this.#items.push({ type: 'user', id, text })
      if (role === 'assistant' && text !== '') this.#items.push({ type: 'reply', id, text, reasoning: '' })
    }
  }

  #delta(event: Delta): void {
    const [below] = event.path ?? []
    if (event.type === 'tool.progress' || event.type === 'node.progress') {
      const id = 'task' in event.data ? event.data.task : event.data.callId
      return this.#change(below ?? id, { progress: event.data.progress })
    }
    if (below !== undefined) {
      const item = this.#items.find(({ id }) => id === below)
      if (event.type === 'text.delta' && item?.type === 'call')
        this.#change(below, { below: (item.below ?? '') + event.data.text })
      return
    }
    // Deltas of calls may come after the entry that has the whole reply.
    const live = this.#live
    if (live === undefined) return
    if (event.type === 'text.delta') this.#live = { ...live, text: live.text + event.data.text }
    if (event.type === 'reasoning.delta')
      this.#live = { ...live, reasoning: live.reasoning + event.data.text }
    if (event.type === 'call.delta') this.#live = { ...live, calls: withPiece(live.calls, event.data) }
  }

  /** Adds an item, or replaces the one of its id: a request that is asked again. */
  #put(item: CallItem | RequestItem): void {
    const at = this.#items.findLastIndex(({ type, id }) => type === item.type && id === item.id)
    if (at < 0) this.#items.push(item)
    else this.#items[at] = item
  }

  /** Of a call whose beginning is not among the entries that were read, there is no item. */
  #change(id: string, changes: Partial<CallItem>): void {
    const at = this.#items.findLastIndex((item) => item.type === 'call' && item.id === id)
    const item = this.#items[at]
    if (item?.type === 'call') this.#items[at] = { ...item, ...changes }
  }

  #notice(seq: number, tone: NoticeItem['tone'], text: string): void {
    this.#items.push({ type: 'notice', id: `entry-${seq}-notice`, tone, text })
  }

  #stopped(seq: number, tone: NoticeItem['tone'], text: string): void {
    this.#items.push({ type: 'notice', id: `entry-${seq}-notice`, tone, text, canContinue: true })
  }
}

/** The text of a message; files by their names. */
function withPiece(calls: readonly LiveCall[], piece: LiveCall): readonly LiveCall[] {
  const isKnown = calls.some(({ callId }) => callId === piece.callId)
  if (!isKnown) return [...calls, piece]
  return calls.map((call) =>
    call.callId === piece.callId ? { ...call, text: call.text + piece.text } : call,
  )
}

function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const parts = content as readonly Json[]
  return parts
    .map((part) => {
      if (!isObject(part)) return ''
      const { type, text, name, mediaType } = part
      if (type === 'file') return `[${textIn(name) ?? 'file'}, ${textIn(mediaType) ?? ''}]`
      return type === 'text' ? (textIn(text) ?? '') : ''
    })
    .filter((text) => text !== '')
    .join('\n')
}

function userItem(seq: number, data: JsonObject): UserItem {
  const { values, message } = data
  const found = messageIn(values)
  const text = found?.text ?? contentText(message)
  const isShown = values !== undefined && !found?.isAll
  return { type: 'user', id: `entry-${seq}`, text, ...(isShown ? { values } : {}) }
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : []
}

function joined(parts: readonly JsonObject[], type: string): string {
  return parts.flatMap((part) => (part['type'] === type ? [textIn(part['text']) ?? ''] : [])).join('')
}
