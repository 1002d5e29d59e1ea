/** The commands of the chat: lines that begin with a slash. */
import { loadSession } from 'holdfast/journal'
import { listGrants, revokeGrants } from 'holdfast/operate'
import { cyan, dim, joinLines, NOTHING, styled } from 'holdfast/terminal'
import { toolsFrom } from 'holdfast/tool'
import { sessionLines } from '../command/sessions.ts'
import { VENDORS } from '../config/choose-model.ts'
import { originText } from '../mcp-tools.ts'
import { findContext, freshId, keyOf, listContexts, namedContext } from '../names.ts'
import { didYouMean } from '../nearest.ts'
import { readyAgent } from '../open-agent.ts'
import { readAll } from '../read-exchanges.ts'
import { wrongUsage } from '../refusal.ts'
import { costText, exchangeLines } from '../terminal/exchange-lines.ts'
import { counted, cut, oneLine, padEnd } from '../terminal/text.ts'
import type { Chat, ChatOptions } from './chat.ts'

interface SlashCommand {
  readonly name: string
  readonly takes?: string
  readonly help: string
  readonly run: (chat: Chat, argument: string) => void | Promise<unknown>
}

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: '/help', help: 'this list', run: printHelp },
  { name: '/new', takes: '[ID]', help: 'a new conversation', run: begin },
  { name: '/sessions', help: 'conversations with this agent', run: printSessions },
  { name: '/switch', takes: 'ID', help: 'open another conversation', run: switchTo },
  { name: '/agent', takes: '[NAME]', help: 'talk with another agent', run: changeAgent },
  { name: '/model', takes: '[NAME]', help: 'use another model', run: changeModel },
  { name: '/show', help: 'the whole conversation', run: showAll },
  { name: '/tools', help: 'the tools of the agent', run: printTools },
  { name: '/cost', help: 'tokens and cost so far', run: printCost },
  {
    name: '/continue',
    help: 'continue where the last turn stopped',
    run: continueTurn,
  },
  { name: '/answer', help: 'answer open questions', run: answer },
  {
    name: '/cancel',
    help: 'while a turn runs: cancel it, like Ctrl-C',
    run: (chat) => chat.print(dim('Nothing runs.')),
  },
  {
    name: '/break',
    takes: '[TOOL]',
    help: 'stop before a tool; after TOOL, or off; none named: list them',
    run: breakAt,
  },
  {
    name: '/grants',
    takes: '[revoke N]',
    help: 'calls that run without asking; revoke one, or all of them',
    run: grants,
  },
  { name: '/compact', help: 'leave older messages out of the prompt', run: compact },
  { name: '/clear', help: 'start the next turn without the messages so far', run: clear },
  { name: '/fork', takes: '[ID]', help: 'continue in a copy', run: fork },
  { name: '/exit', help: 'leave, like Ctrl-D', run: (chat) => chat.leave() },
]

/** Runs a command. False if the line is a message that begins with a slash, such as a path. */
export async function runSlash(chat: Chat, text: string): Promise<boolean> {
  const [name = '', ...rest] = text.split(/\s+/)
  const command = SLASH_COMMANDS.find((each) => each.name === name)
  if (command !== undefined) await command.run(chat, rest.join(' '))
  else if (name.indexOf('/', 1) > 0 || name === '/') return false
  else {
    const meant = didYouMean(
      name,
      SLASH_COMMANDS.map((each) => each.name),
    )
    throw wrongUsage(`${name} is no command.${meant} Type /help to list them.`)
  }
  return true
}

/** Completions for the Tab key. */
export function completeSlash(line: string, known: Completions): [string[], string] {
  const space = line.indexOf(' ')
  if (!line.startsWith('/')) return [[], line]
  if (space < 0) return [SLASH_COMMANDS.map(({ name }) => name).filter((name) => name.startsWith(line)), line]
  const word = line.slice(space + 1)
  const sources: Record<string, () => readonly string[]> = {
    '/switch': known.ids,
    '/agent': known.agents,
    '/model': known.models,
  }
  const words = sources[line.slice(0, space)]?.() ?? []
  return [words.filter((each) => each.startsWith(word)), word]
}

export interface Completions {
  readonly ids: () => readonly string[]
  readonly agents: () => readonly string[]
  readonly models: () => readonly string[]
}

function printHelp(chat: Chat): void {
  const { screen } = chat.options
  const rows = SLASH_COMMANDS.map(
    ({ name, takes, help }) => [takes === undefined ? name : `${name} ${takes}`, help] as const,
  )
  const width = Math.max(...rows.map(([left]) => left.length))
  const lines = rows.map(
    ([left, right]) => styled`  ${padEnd(left, width)}  ${dim(cut(right, screen.columns - width - 4))}`,
  )
  const keys =
    'A message that begins with a slash is written with two: //sessions. Tab completes, ↑ recalls, a line that ends in \\ continues below. Ctrl-C cancels the turn or clears the line; press it twice on an empty line, or Ctrl-D, to leave.'
  chat.print(joinLines(lines))
  screen.printText(`${keys}\n`, dim)
}

async function begin(chat: Chat, id: string): Promise<void> {
  const { store } = chat.options
  const agent = chat.ready.name
  if (id !== '' && (await store.head(keyOf({ agent, id }))) !== undefined)
    throw wrongUsage(
      `${id} exists already, or was erased. Type /switch ${id} to open it, or choose another id.`,
    )
  await chat.move(id === '' ? await freshId(store, agent, new Date()) : id)
}

async function printSessions(chat: Chat): Promise<void> {
  const { store, screen, workspace } = chat.options
  const { name } = chat.ready
  const heads = await listContexts(store, { prefix: `${name}:` })
  const current = keyOf({ agent: name, id: chat.id }).contextId
  const look = { agents: Object.keys(workspace.agents), columns: screen.columns, current }
  chat.print(heads.length === 0 ? dim('None yet.') : styled`${joinLines(sessionLines(heads, look))}\n`)
}

async function switchTo(chat: Chat, name: string): Promise<void> {
  if (name === '') throw wrongUsage('/switch needs an id. Type /sessions to list them.')
  const { store, workspace, env } = chat.options
  const own = chat.ready.name
  const agents = [own, ...Object.keys(workspace.agents).filter((each) => each !== own)]
  const head = await findContext(store, name, { agents: [own] }).catch(() =>
    findContext(store, name, { agents }),
  )
  const named = namedContext(head.key.contextId, agents)
  if (named === undefined) throw wrongUsage(`${head.key.contextId} belongs to no agent of the config.`)
  const ready = named.agent === own ? chat.ready : await readyAgent(workspace, { agent: named.agent, env })
  await chat.move(named.id, ready)
}

async function changeAgent(chat: Chat, name: string): Promise<void> {
  const { workspace, env } = chat.options
  const names = Object.keys(workspace.agents)
  if (name === '') {
    chat.print(joinLines(names.map((each) => styled`  ${each === chat.ready.name ? '*' : ' '} ${each}`)))
    return
  }
  const ready = await readyAgent(workspace, { agent: name, env })
  await chat.move(await startingId(chat.options, ready.name), ready)
}

/** The conversation to open first: the last one, unless it was erased. */
export async function startingId(
  { workspace, store }: Pick<ChatOptions, 'workspace' | 'store'>,
  agent: string,
): Promise<string> {
  const id = workspace.lastContext(agent) ?? 'main'
  const head = await store.head(keyOf({ agent, id }))
  return head?.status === 'erased' ? freshId(store, agent, new Date()) : id
}

async function changeModel(chat: Chat, name: string): Promise<void> {
  const { workspace, env } = chat.options
  if (name === '') {
    chat.print(styled`${chat.ready.choice.name}\n`)
    return
  }
  await chat.move(chat.id, await readyAgent(workspace, { agent: chat.ready.name, model: name, env }))
}

async function showAll(chat: Chat): Promise<void> {
  const { store, screen } = chat.options
  const { exchanges } = await readAll(store, keyOf({ agent: chat.ready.name, id: chat.id }))
  const blocks = exchanges.map(
    (each) => styled`${joinLines(exchangeLines(each, { columns: screen.columns, footer: true }))}\n`,
  )
  chat.print(blocks.length === 0 ? dim('No messages yet.') : joinLines(blocks))
}

async function printTools(chat: Chat): Promise<void> {
  const { definition, mcp } = chat.ready
  const { tools = [] } = definition
  const { screen } = chat.options
  if (typeof tools === 'function') chat.print(dim('A function chooses them for each turn.'))
  const all = [...(typeof tools === 'function' ? [] : toolsFrom(tools)), ...((await mcp?.tools()) ?? [])]
  if (typeof tools === 'function' && all.length === 0) return chat.print(NOTHING)
  if (all.length === 0) return chat.print(styled`${dim('None.')}\n`)
  const width = Math.min(24, Math.max(...all.map(({ name }) => name.length)))
  const lines = all.map(({ name, description, approve, origin }) => {
    const from = origin === undefined ? '' : ` ${oneLine(originText(origin))}`
    const asks = `${from}${approve === 'never' ? '' : ' (asks first)'}`
    const room = screen.columns - width - 4 - asks.length
    return styled`  ${padEnd(cut(name, width), width)}  ${dim(cut(oneLine(description), room) + asks)}`
  })
  chat.print(styled`${joinLines(lines)}\n`)
}

async function printCost(chat: Chat): Promise<void> {
  const { totals } = await loadSession(chat.options.store, keyOf({ agent: chat.ready.name, id: chat.id }))
  const { usage, turns, modelCalls, toolCalls } = totals
  const cost = usage.costUsd === 0 ? 'no price known, or none' : costText(usage.costUsd)
  const about = usage.estimated ? ' (estimated)' : ''
  chat.print(
    styled`${counted(turns, 'turn')}, ${counted(modelCalls, 'model call')}, ${counted(toolCalls, 'tool call')}`,
  )
  chat.print(styled`${usage.inputTokens} tokens in, ${usage.outputTokens} out, ${cost}${about}\n`)
}

async function continueTurn(chat: Chat): Promise<void> {
  if (!(await chat.answerOpen())) await chat.runTurn(chat.agent.executeTurn(null))
}

async function answer(chat: Chat): Promise<void> {
  if (!(await chat.answerOpen())) chat.print(styled`${dim('Nothing waits for an answer.')}\n`)
}

async function compact(chat: Chat): Promise<void> {
  const done = await chat.agent.compact()
  const what = done
    ? 'Prompts leave older messages out from now on; the journal keeps them.'
    : 'There is nothing to leave out yet.'
  chat.print(styled`${dim(what)}\n`)
}

async function breakAt(chat: Chat, place: string): Promise<void> {
  const { breakpoints } = chat.options
  if (place === 'off') breakpoints.clear()
  else if (place !== '') breakpoints.add(place)
  // Plugins are part of an agent.
  if (place !== '') await chat.move(chat.id)
  chat.print(styled`${joinLines(breakpoints.lines())}\n`)
}

async function grants(chat: Chat, argument: string): Promise<void> {
  const { store, screen } = chat.options
  const key = keyOf({ agent: chat.ready.name, id: chat.id })
  const given = await listGrants(store, key)
  const [verb = '', which = ''] = argument.split(/\s+/)
  if (verb === 'revoke') {
    const pattern = which === 'all' ? undefined : given[Number(which) - 1]?.pattern
    if (which !== 'all' && pattern === undefined)
      throw wrongUsage('/grants revoke needs the number of a grant, or all. Type /grants to list them.')
    const ended = await revokeGrants(store, key, pattern)
    return chat.print(styled`${dim(`${ended} revoked.`)}\n`)
  }
  if (verb !== '') throw wrongUsage(`${verb} is nothing that /grants can do. Type /grants revoke N.`)
  const lines = given.map(({ pattern, scope }, at) => {
    const number = String(at + 1)
    return styled`  ${cyan(number)} ${padEnd(scope, 7)}  ${cut(pattern, screen.columns - number.length - 13)}`
  })
  chat.print(lines.length === 0 ? styled`${dim('None.')}\n` : styled`${joinLines(lines)}\n`)
}

async function clear(chat: Chat): Promise<void> {
  await chat.agent.clear()
  const what =
    'The next turn starts without the messages so far. The journal keeps them; run holdfast erase to remove them.'
  chat.print(styled`${dim(what)}\n`)
}

async function fork(chat: Chat, requested: string): Promise<void> {
  const { store } = chat.options
  const agent = chat.ready.name
  const id = requested === '' ? await freshId(store, agent, new Date()) : requested
  const copy = await chat.agent.fork(keyOf({ agent, id }).contextId)
  await chat.move(id, chat.ready, copy)
}

/** The models that `/model` accepts with these keys. */
export function modelNames(env: Readonly<Record<string, string | undefined>>): string[] {
  return ['reflex', ...VENDORS.filter(({ keyVariable }) => env[keyVariable]).map(({ example }) => example)]
}
