/**
 * Finds files that a model has refused: the `model.end` of the refusal names their digests. It follows the message that
 * brought them, so a window with the message has the refusal, too.
 */
import { isKnown } from '../journal/index.ts'
import { dataOf } from '../loop/index.ts'
import { fileDigest, filesIn, type ModelFailure, type NamedFile, type ShownFiles } from '../model/index.ts'
import { type Entry, fileTitle, type Message } from '../protocol/index.ts'
import type { ModelSource } from './definition.ts'
import type { TurnRun } from './turn-run.ts'

const NONE: ReadonlySet<string> = new Set()

/** The digests of the files that this model has refused. Another model gets them, until it refuses them as well. */
export function refusedBy(entries: readonly Entry[], model: string): ReadonlySet<string> {
  const refused = entries.flatMap((entry) =>
    isKnown(entry) && entry.type === 'model.end' && entry.data.model === model
      ? filesOf(entry.data.error)
      : [],
  )
  return refused.length === 0 ? NONE : new Set(refused.map(({ digest }) => digest))
}

function filesOf(error: { readonly [field: string]: unknown } | undefined): readonly NamedFile[] {
  return error?.['kind'] === 'file-refused' ? ((error['files'] ?? []) as readonly NamedFile[]) : []
}

/** True if the turn can continue without the files, because none of them came with it. */
export async function continuesWithout(run: TurnRun, { kind, files }: ModelFailure): Promise<boolean> {
  if (kind !== 'file-refused') return false
  const brought = await broughtBy(run)
  return files.every(({ digest }) => !brought.has(digest))
}

/** Warns that a file of an earlier turn is left out from here on. */
export function warnRefused(run: TurnRun, { name }: ModelSource, { files, message }: ModelFailure): void {
  const titles = files.map(fileTitle).join(', ')
  run.draft.append('warning', {
    code: 'file-refused',
    message: run.redacted(`The turn continued without ${titles}, which ${name} refused. ${message}`),
  })
}

/** Warns, once a turn, that it brought more pictures than the vendor takes. */
export async function warnIfBeyond(
  run: TurnRun,
  { name }: ModelSource,
  { beyond }: ShownFiles,
): Promise<void> {
  if (beyond.length === 0) return
  const brought = await broughtBy(run)
  const own = beyond.filter((file) => brought.has(fileDigest(file)))
  if (own.length === 0 || (await hasWarned(run))) return
  const message = `${own.length} of the files that were sent are not shown to ${name}: it takes no more at once. The newest are shown.`
  run.draft.append('warning', { code: 'files-left-out', message })
}

async function hasWarned(run: TurnRun): Promise<boolean> {
  const entries = await run.scope.view.window()
  return entries.some(
    ({ turn, type, data }) =>
      turn === run.open.turn && type === 'warning' && data['code'] === 'files-left-out',
  )
}

/** The digests of the files that came with the turn's inputs. */
async function broughtBy(run: TurnRun): Promise<ReadonlySet<string>> {
  const entries = await run.scope.view.window()
  const taken = new Set(entries.flatMap(({ turn, takes = [] }) => (turn === run.open.turn ? takes : [])))
  const inputs = entries
    .filter(({ seq, type }) => type === 'input' && taken.has(seq))
    .map((entry): Message => ({ role: 'user', content: dataOf(entry, 'input').message }))
  return new Set(filesIn(inputs).map(fileDigest))
}
