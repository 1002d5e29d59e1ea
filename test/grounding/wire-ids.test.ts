/** Ids as models and people see them in real turns: codes in prompts, labels in texts, ids in the journal. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity, entityMap, handleTable } from '../../src/grounding/index.ts'
import type { TurnEvent } from '../../src/protocol/index.ts'
import { type ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { type BenchOptions, bench, calls, KEY, promptLines } from '../turn/kit.ts'
import { checkVendorRequest } from '../vendors/check-vendor-request.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'

const CHAMPIGNY = '0a1b2c3d-0000-4000-8000-00000000c4a1'
const BUREAU = '0a1b2c3d-0000-4000-8000-00000000b0e2'
const project = entity('project', { pattern: /[0-9a-f-]{36}/ })
const task = entity('task', { parent: project })

const table = handleTable(entityMap([project, task]), [
  { entity: 'project', id: CHAMPIGNY },
  { entity: 'project', id: BUREAU },
  { entity: 'task', id: '7' },
  { entity: 'project', id: 'own-1' },
])
const [P1, P2, T1] = [
  table.encode('project', CHAMPIGNY),
  table.encode('project', BUREAU),
  table.encode('task', '7'),
]

function firm(options: BenchOptions) {
  const ran: unknown[] = []
  const list = defineTool({
    name: 'list_projects',
    description: 'Lists projects.',
    input: z.object({}),
    run: () => [
      { id: CHAMPIGNY, name: 'Champigny' },
      { id: BUREAU, name: 'Bureau' },
    ],
    returns: (rows) => project.rows(rows, { id: 'id', label: 'name' }),
  })
  const tasks = defineTool({
    name: 'list_tasks',
    description: 'Lists the tasks of a project.',
    input: z.object({ projectId: z.uuid().meta(project.id()) }),
    run: (input) => {
      ran.push(input)
      return [{ id: 7, title: 'Roof', hours: 7, projectId: input.projectId }]
    },
    returns: (rows) => task.rows(rows, { id: 'id', label: 'title', parent: 'projectId' }),
  })
  const close = defineTool({
    name: 'close_task',
    description: 'Closes a task.',
    input: z.object({ taskId: z.int().min(1).meta(task.id()) }),
    run: (input) => {
      ran.push(input)
      return { closed: input.taskId }
    },
  })
  return { ran, ...bench({ tools: [list, tasks, close], entities: [project, task], ...options }) }
}

/** The whole request of one model call. */
function sent(model: ScriptedModel, call: number): string {
  const { prompt, tools } = model.calls[call] ?? {}
  return JSON.stringify({ prompt, tools })
}

function results(model: ScriptedModel, call: number): unknown[] {
  return (model.calls[call]?.prompt ?? []).flatMap(({ role, content }) =>
    role === 'tool'
      ? (content as unknown as { output: { value: unknown } }[]).map(({ output }) => output.value)
      : [],
  )
}

function lastArgs(model: ScriptedModel, call: number): unknown {
  const asked = model.calls[call]?.prompt.findLast(({ role }) => role === 'assistant')
  return ((asked?.content ?? []) as unknown as { input?: unknown }[]).map(({ input }) => input)
}

const listing = calls('list_projects')

describe('codes instead of ids', () => {
  const script: readonly ScriptedStep[] = [
    listing,
    calls(['list_tasks', { projectId: P2 }]),
    calls(['close_task', { taskId: T1 }]),
    'Closed.',
  ]

  it('are what the model reads and writes, in prompts that vendors take; tools and the journal have ids', async () => {
    const { agent, model, store, ran } = firm({ script, grounding: { handles: true } })
    await agent.input('Close the task of Bureau')
    expect(results(model, 3)).toEqual([
      [
        { id: P1, name: 'Champigny' },
        { id: P2, name: 'Bureau' },
      ],
      [{ id: T1, title: 'Roof', hours: 7, projectId: P2 }],
      { closed: 7 },
    ])
    expect(lastArgs(model, 2)).toEqual([{ projectId: P2 }])
    expect(lastArgs(model, 3)).toEqual([{ taskId: T1 }])
    expect(promptLines(model, 3).at(-1)).toBe(
      `user ${JSON.stringify(
        `[Seen before:\nProjects: [{"id":"${P1}","label":"Champigny"},{"id":"${P2}","label":"Bureau"}]\nTasks: [{"id":"${T1}","label":"Roof"}]\n]`,
      )}`,
    )
    for (const { prompt, tools } of model.calls)
      for (const { vendor, body } of await vendorRequests({ prompt, tools }))
        expect({ vendor, problems: checkVendorRequest(vendor, body) }).toEqual({ vendor, problems: [] })
    expect([0, 1, 2, 3].filter((call) => /0a1b2c3d/.test(sent(model, call)))).toEqual([])
    expect(ran).toEqual([{ projectId: BUREAU }, { taskId: 7 }])
    const entries = await store.read(KEY)
    expect(JSON.stringify(entries)).not.toMatch(/[pt]~[a-z0-9]/)
    const grounds = entries.flatMap(({ type, data }) =>
      type === 'tool.start' ? ((data['grounds'] ?? []) as unknown[]) : [],
    )
    expect(grounds).toMatchObject([
      { entity: 'project', id: BUREAU, source: 'seen', path: 'projectId' },
      { entity: 'task', id: '7', source: 'seen', path: 'taskId' },
    ])
  })

  it('are ids again in texts that the model writes for a tool, marked or not', async () => {
    const mails: unknown[] = []
    const mail = defineTool({
      name: 'mail',
      description: 'Sends a mail.',
      input: z.object({ body: z.string() }),
      run: (input) => {
        mails.push(input)
        return 'sent'
      },
    })
    const { agent } = bench({
      script: [calls(['mail', { body: `About ${P1}` }]), 'Sent.'],
      tools: [mail],
      entities: [project],
      grounding: { handles: true },
    })
    await agent.select(project.select(CHAMPIGNY))
    await agent.input('Write')
    expect(mails).toEqual([{ body: `About ${CHAMPIGNY}` }])
  })

  it('fit the schemas that the model is sent, whatever the tool wants', async () => {
    const { agent, model } = firm({ script: ['Hm.'], grounding: { handles: true } })
    await agent.input('Hello')
    const schemas = (model.calls[0]?.tools ?? []).map((tool) => (tool as { inputSchema: object }).inputSchema)
    expect(schemas).toMatchObject([
      {},
      { properties: { projectId: { type: 'string' } } },
      { properties: { taskId: { type: 'string' } } },
    ])
    expect(JSON.stringify(schemas)).not.toMatch(/pattern|format|minimum|x-entity/)
  })

  it('stand in the state block and in refusals, in words too; following the advice works', async () => {
    const { agent, model, ran } = firm({
      script: [
        listing,
        'Listed.',
        calls(['list_tasks', { projectId: P2 }]),
        calls(['list_tasks', { projectId: P1 }]),
        'Ok.',
      ],
      grounding: { handles: true },
    })
    await agent.input('List')
    await agent.select(project.select(CHAMPIGNY, { label: 'Champigny' }))
    await agent.input('Show the tasks')
    expect(promptLines(model, 2).at(-1)).toContain(`Active project: Champigny (ID: ${P1})`)
    expect(results(model, 3).at(-1)).toMatchObject({
      reason: 'not-active',
      given: P2,
      active: { id: P1 },
      next: { do: 'use', ids: [P1] },
      message: expect.stringContaining(`The active project is Champigny (${P1}). Use ${P1},`) as string,
    })
    expect(sent(model, 3)).not.toContain('0a1b2c3d')
    expect(ran).toEqual([{ projectId: CHAMPIGNY }])
  })

  it('are no way in: a code that stands for nothing is refused, and ids of people still count', async () => {
    const said = '0a1b2c3d-0000-4000-8000-00000000ffff'
    const { agent, ran } = firm({
      script: [calls(['list_tasks', { projectId: P1 }]), calls(['list_tasks', { projectId: said }]), 'Ok.'],
      grounding: { handles: true },
    })
    await agent.input(`Tasks of ${said}`)
    expect(ran).toEqual([{ projectId: said }])
  })

  it('are the same after a restart, and are only for what the window shows', async () => {
    const steps = [
      listing,
      'Listed.',
      'a',
      'b',
      'c',
      'd',
      calls(['list_tasks', { projectId: 'Bureau' }]),
      calls(['close_task', { taskId: T1 }]),
      'Ok.',
    ]
    const { agent, another, model, ran } = firm({
      script: steps,
      grounding: { handles: true },
      maxMessages: 4,
    })
    await agent.input('List')
    await agent.shutdown()
    const later = another()
    await later.input('One')
    expect(promptLines(model, 2).at(-1)).toContain(P2)
    for (const word of ['Two', 'Three', 'Four']) await later.input(word)
    expect(sent(model, 5)).not.toContain('p~')
    await later.input('Close the task of Bureau')
    expect(ran).toEqual([{ projectId: BUREAU }, { taskId: 7 }])
  })

  it('in what the model says become labels', async () => {
    const { agent } = firm({
      script: [listing, `There are ${P1} and Bureau (ID: ${P2}).`],
      grounding: { handles: true },
    })
    expect(await agent.input('List')).toBe('There are Champigny and Bureau.')
  })

  it('are not given where an id is a name, or things of two kinds have it', async () => {
    const thing = defineTool({
      name: 'things',
      description: 'Lists things.',
      input: z.object({}),
      run: () => ({ a: 'same-1', b: 'Mairie', c: 'own-1' }),
      returns: ({ a, b, c }) => [
        { entity: 'project', id: a },
        { entity: 'task', id: a },
        { entity: 'project', id: b, label: 'Mairie' },
        { entity: 'project', id: c },
      ],
    })
    const { agent, model } = firm({
      script: [calls('things'), 'Ok.'],
      tools: [thing],
      grounding: { handles: true },
    })
    await agent.input('List')
    expect(results(model, 1)).toEqual([{ a: 'same-1', b: 'Mairie', c: table.encode('project', 'own-1') }])
  })
})

describe('ids that are hidden', () => {
  const reply = `Champigny (ID: ${CHAMPIGNY}) and ${BUREAU} are open.`
  const shown = 'Champigny and Bureau are open.'

  async function told(options: BenchOptions) {
    const made = firm({ script: [listing, { deltas: reply.split('') }], ...options })
    const turn = made.agent.executeTurn('List')
    const events: TurnEvent[] = []
    for await (const event of turn) events.push(event)
    const { text } = await turn.outcome
    const deltas = events.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))
    return { ...made, text, deltas }
  }

  it('are in no piece of a reply, not in the outcome, and not in the stored reply', async () => {
    const { text, deltas, store, model } = await told({ grounding: { hideIds: true } })
    expect(text).toBe(shown)
    expect(deltas.join('')).toBe(shown)
    const ends = (await store.read(KEY)).filter(({ type }) => type === 'model.end')
    expect(ends.at(-1)?.data['content']).toEqual([{ type: 'text', text: shown }])
    expect(sent(model, 1)).toContain(CHAMPIGNY)
  })

  it('may be those of some entities only', async () => {
    expect((await told({ grounding: { hideIds: [task] } })).text).toBe(reply)
    expect((await told({ grounding: { hideIds: [project] } })).text).toBe(shown)
  })

  it('stay where nobody asked for that', async () => {
    const { text, deltas } = await told({})
    expect([text, deltas.join('')]).toEqual([reply, reply])
  })

  it('are hidden in a reply that was cut short too', async () => {
    const { agent, store } = firm({
      script: [listing, { stall: true, after: `It is ${BUREAU}, ` }],
      grounding: { hideIds: true },
    })
    const turn = agent.executeTurn('List')
    let personMessages = ''
    for await (const event of turn) {
      if (event.type !== 'text.delta') continue
      personMessages += event.data.text
      if (personMessages.includes('Bureau')) void agent.cancel()
    }
    expect((await turn.outcome).reason).toBe('cancelled')
    const ends = (await store.read(KEY)).filter(({ type }) => type === 'model.end')
    expect(ends.at(-1)?.data['content']).toEqual([{ type: 'text', text: 'It is Bureau, ' }])
    expect(personMessages).toBe('It is Bureau, ')
  })

  it('of two kinds of things are taken out without saying which', async () => {
    const both = defineTool({
      name: 'both',
      description: 'Shows both.',
      input: z.object({}),
      run: () => 'ok',
      returns: () => [
        { entity: 'project', id: 'x-1', label: 'Bureau' },
        { entity: 'task', id: 'x-1', label: 'Roof' },
      ],
    })
    const { agent } = firm({
      script: [calls('both'), 'See x-1.'],
      tools: [both],
      grounding: { hideIds: true },
    })
    expect(await agent.input('Show')).toBe('See [id].')
  })
})

it('what cannot be meant is refused', () => {
  for (const grounding of [{ hideIds: [entity('other')] }, { hideIds: 'yes' }, { handles: 'yes' }])
    expect(() => firm({ grounding: grounding as never })).toThrow(/grounding\.(hideIds|handles)/)
})
