/** Embeddings of passages by any embedding model of the AI SDK, versions 3 and 4. Knows no vendor and no index. */
import { HoldfastError } from '../protocol/index.ts'

/** Structural: a model object of either version fits without a cast. */
export interface EmbeddingModel {
  readonly provider: string
  readonly modelId: string
  /** The most texts of one call. */
  readonly maxEmbeddingsPerCall?: PromiseLike<number | undefined> | number | undefined
  doEmbed(options: {
    values: string[]
    abortSignal?: AbortSignal
  }): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>
}

const BATCH = 32

/** The id of a model: vectors of two models are never compared. */
export function embeddingId({ provider, modelId }: EmbeddingModel): string {
  return `${provider}/${modelId}`
}

export async function batchSize(model: EmbeddingModel): Promise<number> {
  return Math.max(1, Math.min(BATCH, (await model.maxEmbeddingsPerCall) ?? BATCH))
}

/** Vectors of length 1, in the order of the texts. Throws `model-failed`, or the reason of the signal. */
export async function embed(
  model: EmbeddingModel,
  values: readonly string[],
  signal?: AbortSignal,
): Promise<readonly Float32Array[]> {
  signal?.throwIfAborted()
  const embeddings = await call(model, values, signal)
  if (!areVectors(embeddings, values.length))
    throw failed(model, `it returned no ${values.length} vectors of one length`)
  return embeddings.map(unitVector)
}

function areVectors(given: unknown, count: number): boolean {
  if (!Array.isArray(given) || given.length !== count) return false
  const [first] = given as readonly unknown[]
  return given.every(
    (vector: unknown) =>
      isVector(vector) && vector.length > 0 && vector.length === (first as readonly number[]).length,
  )
}

/** Models that run in this process give typed arrays. */
function isVector(given: unknown): given is readonly number[] {
  const isList = Array.isArray(given) || given instanceof Float32Array || given instanceof Float64Array
  return isList && (given as readonly number[]).every(Number.isFinite)
}

async function call(model: EmbeddingModel, values: readonly string[], signal?: AbortSignal) {
  try {
    const options = { values: [...values], ...(signal === undefined ? {} : { abortSignal: signal }) }
    return (await model.doEmbed(options)).embeddings
  } catch (error) {
    signal?.throwIfAborted()
    throw failed(model, error instanceof Error ? error.message : String(error), error)
  }
}

export function cosine(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0
  let total = 0
  for (let at = 0; at < one.length; at++) total += (one[at] ?? 0) * (other[at] ?? 0)
  return total
}

function unitVector(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, (part) => (length === 0 ? 0 : part / length))
}

function failed(model: EmbeddingModel, why: string, cause?: unknown): HoldfastError {
  return new HoldfastError('model-failed', {
    message: `The embedding model ${embeddingId(model)} failed: ${why}. Documents that were added are kept: repeat the call.`,
    retry: 'later',
    details: { model: embeddingId(model) },
    cause,
  })
}
