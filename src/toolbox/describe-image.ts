/** The port to a vision model. The room of tools knows no models, so the caller provides it. */
import type { Usage } from '../protocol/index.ts'

/** An image, and the question about it. */
export interface ImageQuestion {
  readonly bytes: Uint8Array
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`, by the bytes themselves. */
  readonly mediaType: string
  readonly question: string
  readonly signal: AbortSignal
}

/** `llmDo` returns such an answer. */
export interface ImageAnswer {
  readonly text: string
  /** Counted for the turn. */
  readonly usage?: Usage
}

/** Asks a model that can see. */
export type DescribeImage = (question: ImageQuestion) => Promise<ImageAnswer>
