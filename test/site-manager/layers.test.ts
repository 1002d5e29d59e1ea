/**
 * The three layers with a scripted model that knows nothing but its prompt: it takes an id from the state block, else
 * from the block of tool results, else it looks the name up, else it asks.
 */
import { describe, expect, it } from 'vitest'
import type { SiteDatabase } from '../../examples/site-manager/database.ts'
import { entities, siteTools } from '../../examples/site-manager/site.ts'
import type { Entity } from '../../src/entry/grounding.ts'
import type { AgentConfig } from '../../src/index.ts'
import { tokenCounter } from '../../src/model/index.ts'
import type { EntryData, Json, JsonObject } from '../../src/protocol/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { type ScriptedFunction, ScriptedModel, type ScriptedStep } from '../../src/testing/scripted-model.ts'
import { BUREAU, CHAMPIGNY, HOUR, Site, type Talk } from './kit.ts'

const [project] = entities as readonly [Entity, Entity, Entity]

interface Language {
  readonly code: string
  readonly list: string
  readonly tasks: string
  readonly tasksOf: (what: string) => string
  readonly second: string
  readonly active: RegExp
  readonly rows: RegExp
  readonly question: string
}

const ENGLISH: Language = {
  code: 'en',
  list: 'List the projects',
  tasks: 'Show me tasks',
  tasksOf: (what) => `Show tasks for ${what}`,
  second: 'project 2',
  active: /^Active project: .*\(ID: (.+)\)$/m,
  rows: /^Projects: (\[.*\])/m,
  question: 'Which project?',
}

const FRENCH: Language = {
  code: 'fr',
  list: 'Affiche les projets',
  tasks: 'Montre-moi les tâches',
  tasksOf: (what) => `Montre-moi les tâches pour ${what}`,
  second: 'projet 2',
  active: /^Projet actif: .*\(ID: (.+)\)$/m,
  rows: /^Projets: (\[.*\])/m,
  question: 'Quel projet ?',
}

type Prompt = Parameters<ScriptedFunction>[0]['prompt']

function textOf(message: Prompt[number] | undefined): string {
  const { content = '' } = message ?? {}
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n')
}

/** What tools have answered since the person spoke, oldest first. */
function resultsIn(prompt: Prompt, asked: number): readonly JsonObject[] {
  return prompt
    .slice(asked)
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .map(({ output }) => (output as { readonly value: JsonObject }).value)
}

function followsTheRules(language: Language): ScriptedFunction {
  const asksFor = new RegExp(`^(?:${language.list}|${language.tasks}|${language.tasksOf('(.+)')})$`, 'm')
  return ({ prompt }): ScriptedStep => {
    const asked = prompt.findLastIndex((message) => message.role === 'user' && asksFor.test(textOf(message)))
    const said = textOf(prompt[asked])
    const results = resultsIn(prompt, asked)
    if (said.startsWith(language.list))
      return results.length > 0 ? 'Voilà.' : { calls: [{ tool: 'list_projects' }] }
    const last = results.at(-1)
    if (Array.isArray(last)) return 'Voilà.'
    const listTasks = (projectId: Json): ScriptedStep => ({
      calls: [{ tool: 'list_tasks', args: { projectId } }],
    })
    if (last !== undefined) return listTasks(last['id'] ?? '')
    const blocks = textOf(prompt.at(-1))
    const [, active] = language.active.exec(blocks) ?? []
    if (active !== undefined) return listTasks(active)
    const [, name] = asksFor.exec(said) ?? []
    if (name === undefined) return language.question
    const [, rows = '[]'] = language.rows.exec(blocks) ?? []
    const seen = JSON.parse(rows) as readonly { readonly id: string; readonly label: string }[]
    const place = name === language.second ? 1 : seen.findIndex(({ label }) => label === name)
    const row = seen[place]
    return row === undefined ? { calls: [{ tool: 'find_project', args: { name } }] } : listTasks(row.id)
  }
}

/** Rows as long as those of real systems. */
function withDetails(db: SiteDatabase): SiteDatabase {
  const detailed = <Row extends object>(row: Row): Row => ({
    ...row,
    description: 'According to the plans of 14 January, in agreement with the owner and the architect.',
    address: { street: '12 rue de la République', postcode: '94500', country: 'FR' },
    manager: { name: 'Claire Dubois', phone: '+33 1 23 45 67 89' },
    progress: 40,
    startDate: '2026-01-05',
    endDate: '2026-04-30',
    updatedAt: '2026-01-14T08:00:00Z',
  })
  return {
    ...db,
    projects: () => db.projects().map(detailed),
    tasks: (...wanted) => db.tasks(...wanted).map(detailed),
  }
}

function talkIn(language: Language, config: Partial<AgentConfig> = {}) {
  const site = new Site()
  const tools = siteTools(withDetails(site.db))
  const model = new ScriptedModel(followsTheRules(language), { timer: site.clock })
  const talk = site.talk({ model, tools, grounding: { language: language.code }, ...config })
  return { site, model, talk }
}

describe.each([
  ['English', ENGLISH],
  ['French', FRENCH],
])('a model that follows the rules, in %s', (_, language) => {
  it('scenario 1: uses the active project directly, without a lookup', async () => {
    const { talk } = talkIn(language)
    await talk.agent.select(project.select(CHAMPIGNY, { label: 'Champigny' }))
    expect((await talk.say(language.tasks)).ran).toEqual([`list_tasks ${CHAMPIGNY}`])
  })

  it('scenario 2: takes the id from the last tool results, without a lookup', async () => {
    const { talk } = talkIn(language)
    expect((await talk.say(language.list)).ran).toEqual(['list_projects'])
    expect((await talk.say(language.tasksOf(language.second))).ran).toEqual([`list_tasks ${BUREAU}`])
  })

  it('scenario 3: looks the name up if nothing is active or recent: two calls', async () => {
    const { talk } = talkIn(language)
    const { ran, refused } = await talk.say(language.tasksOf('Champigny'))
    expect(ran).toEqual(['find_project Champigny', `list_tasks ${CHAMPIGNY}`])
    expect(refused).toEqual([])
  })

  it('scenario 4: sees the whole results of the last one to three tool turns only', async () => {
    const after = await tenToolTurns(language)
    const before = await tenToolTurns(language, { toolResultTurns: Number.POSITIVE_INFINITY })
    const told = ({ whole, resultTokens, tokens }: PromptSize) =>
      `with ${whole} of 10 results whole, ${resultTokens} tokens of results and ${tokens} in all`
    process.stdout.write(`scenario 4 (${language.code}): ${told(before)}; ${told(after)}\n`)
    expect(before.whole).toBe(10)
    expect(after.whole).toBeGreaterThanOrEqual(1)
    expect(after.whole).toBeLessThanOrEqual(3)
    expect(after.results).toBe(10)
    expect(after.resultTokens).toBeLessThan(before.resultTokens / 3)
    expect(after.tokens).toBeLessThan(before.tokens / 2)
  })

  it('scenario 5: asks which project once the active one has expired', async () => {
    const { site, talk } = talkIn(language)
    await talk.agent.select(project.select(CHAMPIGNY, { label: 'Champigny' }))
    site.clock.advance(8 * HOUR)
    expect(await talk.say(language.tasks)).toMatchObject({ ran: [], text: language.question })
    expect(talk.active).toEqual([])
  })
})

interface PromptSize {
  /** Tool results in the prompt of the eleventh turn, and how many of them are whole. */
  readonly results: number
  readonly whole: number
  readonly resultTokens: number
  /** Of the whole prompt: system prompt, messages and blocks. */
  readonly tokens: number
}

async function tenToolTurns(language: Language, config: Partial<AgentConfig> = {}): Promise<PromptSize> {
  const { site, model, talk } = talkIn(language, config)
  const names = ['Champigny', 'Bureau', 'Levallois']
  for (let turn = 1; turn <= 10; turn++)
    await talk.say(turn % 2 === 1 ? language.list : language.tasksOf(names[turn % 3] ?? ''))
  await talk.say(language.tasks)
  const { prompt = [] } = model.calls.at(-1) ?? {}
  const shown = resultsIn(prompt, 0).map((value) => JSON.stringify(value))
  const stored = await storedResults(site, talk)
  const { text } = await tokenCounter()
  return {
    results: shown.length,
    whole: shown.filter((result) => stored.has(result)).length,
    resultTokens: shown.reduce((sum, result) => sum + text(result), 0),
    tokens: text(JSON.stringify(prompt)),
  }
}

async function storedResults({ store }: Site, { agent }: Talk): Promise<ReadonlySet<string>> {
  const entries = await store.read({ ...LOCAL_OWNER, contextId: agent.contextId })
  return new Set(
    entries
      .filter(({ type }) => type === 'tool.end')
      .map(({ data }) => JSON.stringify((data as EntryData['tool.end']).output)),
  )
}
