/** A process that adds a folder to a corpus: `adding-process.ts CORPUS FOLDER`. It prints each document as it begins. */
import { sqliteCorpus } from '../../src/corpus/sqlite/sqlite-corpus.ts'

const [path = '', folder = ''] = process.argv.slice(2)
const corpus = sqliteCorpus(path)
await corpus.add([folder], { onProgress: ({ done, total }) => process.stdout.write(`${done}/${total}\n`) })
await corpus.close()
