/** Appends a whole reply, with warnings about one that was cut off or repeats the ids of its calls. */
import type { ModelReply } from '../model/index.ts'
import { type AssistantPart, quote } from '../protocol/index.ts'
import { sentTo } from './failed-attempt.ts'
import type { TurnRun } from './turn-run.ts'

export function takeReply(run: TurnRun, { content, finish, model, usage }: ModelReply): void {
  run.draft.append('model.end', { content, finish, model, usage, ...sentTo(run) })
  for (const [id, times] of repeatedIds(content)) {
    // Redacted first: a shortened or quoted credential is not found any more.
    const message = `${model} used the call id ${quote(run.redacted(id))} for ${times} calls of one reply. Each of them counts as a call of its own, and runs.`
    run.draft.append('warning', { code: 'id-repeated', message })
  }
  if (finish === 'length')
    run.draft.append('warning', {
      code: 'length',
      message: 'The reply was cut off: it reached the most tokens that a reply may have.',
    })
}

/** The provider's ids that name several calls, with their number. Prompts have our ids, so nothing is ambiguous there. */
function repeatedIds(content: readonly AssistantPart[]): readonly (readonly [string, number])[] {
  const times = new Map<string, number>()
  for (const part of content)
    if (part.type === 'tool-call' && part.providerId !== undefined)
      times.set(part.providerId, (times.get(part.providerId) ?? 0) + 1)
  return [...times].filter(([, count]) => count > 1)
}
