/** A task as the protocol shows it, and its changes as updates of a stream. Reads the bytes of binary artifacts. */
import type { Artifact, StreamResponse, Task, TaskStatus } from '@a2a-js/sdk'
import type { ArtifactChange, Json } from '../../protocol/index.ts'
import { STATE } from './outcome-state.ts'
import { artifact, changeParts, dataPart, textPart } from './parts.ts'
import type { TaskChange, TaskFold } from './task-fold.ts'

/** The artifact with the text of the reply. Names of the runtime begin with `~`; those of tools do not. */
const REPLY = '~reply'
const OUTPUT = '~output'

export type ReadBlob = (hash: string) => Promise<Uint8Array | undefined>

export interface TaskViewOptions {
  /** The newest messages alone. Default: all. */
  readonly historyLength?: number | undefined
  readonly withArtifacts?: boolean
}

export async function taskOf(
  fold: TaskFold,
  readBlob: ReadBlob,
  options: TaskViewOptions = {},
): Promise<Task> {
  const { historyLength, withArtifacts = true } = options
  const history = historyLength === undefined ? fold.history : fold.history.slice(-historyLength)
  return {
    id: fold.id,
    contextId: fold.name.contextId,
    status: statusOf(fold),
    artifacts: withArtifacts ? await artifactsOf(fold, readBlob) : [],
    history: historyLength === 0 ? [] : history,
    metadata: metadataOf(fold),
  }
}

function statusOf({ state, statusMessage, at }: TaskFold): TaskStatus {
  return { state: STATE[state], message: statusMessage, timestamp: new Date(at).toISOString() }
}

function metadataOf({ metadata }: TaskFold): Task['metadata'] {
  return Object.keys(metadata).length === 0 ? undefined : { ...metadata }
}

async function artifactsOf(fold: TaskFold, readBlob: ReadBlob): Promise<Artifact[]> {
  const ofTools = await Promise.all(
    [...fold.artifacts.values()].map(async (changes) => {
      const parts = await Promise.all(changes.map((change) => changeParts(change, readBlob)))
      return artifact(changes[0]?.artifactId ?? '', parts.flat(), nameOf(changes[0]))
    }),
  )
  return [
    ...ofTools,
    ...(fold.reply === '' ? [] : [artifact(REPLY, [textPart(fold.reply)], { name: 'reply' })]),
    ...(fold.output === undefined ? [] : [outputOf(fold.output)]),
  ]
}

function outputOf(value: Json): Artifact {
  return artifact(OUTPUT, [dataPart(value)], { name: 'output' })
}

function nameOf(change: ArtifactChange | undefined): { name?: string } {
  return change?.name === undefined ? {} : { name: change.name }
}

/** One change as an update. */
export async function updateOf(
  fold: TaskFold,
  change: TaskChange,
  readBlob: ReadBlob,
): Promise<StreamResponse> {
  switch (change.type) {
    case 'status':
      return statusUpdate(fold)
    case 'reply':
      return replyUpdate(fold, { text: change.text, append: false, lastChunk: change.isLast })
    case 'output':
      return artifactUpdate(fold, outputOf(change.value), { append: false, lastChunk: true })
    case 'artifact':
    default: {
      const { change: made } = change
      const parts = await changeParts(made, readBlob)
      return artifactUpdate(fold, artifact(made.artifactId, parts, nameOf(made)), {
        append: made.op !== 'write',
        lastChunk: made.complete,
      })
    }
  }
}

function statusUpdate(fold: TaskFold): StreamResponse {
  return {
    payload: {
      $case: 'statusUpdate',
      value: {
        taskId: fold.id,
        contextId: fold.name.contextId,
        status: statusOf(fold),
        metadata: metadataOf(fold),
      },
    },
  }
}

export interface Chunk {
  readonly append: boolean
  readonly lastChunk: boolean
}

export function replyUpdate(
  fold: TaskFold,
  { text, ...chunk }: Chunk & { readonly text: string },
): StreamResponse {
  return artifactUpdate(fold, artifact(REPLY, [textPart(text)], { name: 'reply' }), chunk)
}

function artifactUpdate(fold: TaskFold, made: Artifact, { append, lastChunk }: Chunk): StreamResponse {
  return {
    payload: {
      $case: 'artifactUpdate',
      value: {
        taskId: fold.id,
        contextId: fold.name.contextId,
        artifact: made,
        append,
        lastChunk,
        metadata: undefined,
      },
    },
  }
}
