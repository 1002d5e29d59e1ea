/** Asks one vague question in a process of its own, and ends without closing its store. */
import { askResearch, researchAssistant } from '../../../src/flow/research/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { memoryCorpus } from './kit.ts'

const [, , path = ''] = process.argv
const flow = researchAssistant({ corpus: memoryCorpus(), store: sqliteStore(path) })
const { answer } = await askResearch(flow, 'Tell me when it opens', { contextId: 'talk' })
process.stdout.write(`${answer}\n`, () => process.exit())
