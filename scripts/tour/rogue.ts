/**
 * A scripted model that invents an id: its first call names a task that no tool has shown. It reads the refusal as a
 * language model would, and continues with the task that the refusal names.
 */
import { ScriptedModel } from 'holdfast/testing'

export const ROGUE = 'rogue/invents-ids'
export const INVENTED = 'tsk-9999'

export function rogueModel(): ScriptedModel {
  return new ScriptedModel(
    [
      update(INVENTED),
      ({ prompt }) => {
        const known = /tsk-[a-z0-9]{4}/g
        const refusal = JSON.stringify(prompt.findLast(({ role }) => role === 'tool') ?? '')
        const near = refusal.match(known)?.find((id) => id !== INVENTED)
        return near === undefined ? 'I do not know which task you mean.' : update(near)
      },
      'Done.',
    ],
    { name: ROGUE },
  )
}

function update(taskId: string): { calls: { tool: string; args: { taskId: string; status: string } }[] } {
  return { calls: [{ tool: 'update_task', args: { taskId, status: 'done' } }] }
}
