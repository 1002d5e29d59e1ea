import { z } from 'zod'
import { defineTool, entity } from '../../../src/index.ts'
import { show, Talk } from './talk.ts'
for (const max of [3, 4, 5, 6]) {
for (const way of ['seen', 'said', 'seenInTwoRounds', 'list2', 'chosen-detail']) {
const project = entity('project', { pattern: /R\.\d{3}\.\d{3}/ })
const act = defineTool({ name: 'act', description: 'Acts.', input: z.object({ id: z.string().meta(project.id()) }), run: () => ({ ok: true }) })
const out: string[] = []
for (let n = 0; n < 7; n++) {
const talk = new Talk({ entities: [project], tools: [act], maxMessages: max })
const calls = [show({ project: way === 'said' ? [{ id: 'R.924.039' }] : [{ id: 'R.163.136', name: 'Roof' }, { id: 'R.924.039', name: 'Wall' }] })]
if (way === 'seenInTwoRounds') calls.push(show({ project: [{ id: 'R.924.000' }] }))
await talk.turn(way === 'said' ? 'List R.163.136' : 'List', calls)
for (let i = 0; i < n; i++) await talk.smallTalk('Bonjour')
const e = await talk.turn('Do', [{ tool: 'act', args: { id: way === 'list2' ? 'project 1' : 'R.163.136' } }])
out.push(e.refusal?.reason ?? 'run')
}
console.log(max, way, out.join())
}}
