/** The text and reasoning of one model call as chunks: streamed as they come, completed by the stored reply. */
import { type AssistantPart, replyText } from '../../protocol/index.ts'
import type { UiChunk } from './chunks.ts'

type Kind = 'text' | 'reasoning'

export class ReplyChunks {
  readonly #id: string
  readonly #sent: Record<Kind, string> = { text: '', reasoning: '' }
  #open: { readonly kind: Kind; readonly id: string } | undefined
  #parts = 0

  /** `id`: unique in the conversation. */
  constructor(id: string) {
    this.#id = id
  }

  text(delta: string): readonly UiChunk[] {
    return this.#send('text', delta)
  }

  reasoning(delta: string): readonly UiChunk[] {
    return this.#send('reasoning', delta)
  }

  /** All that the reply has so far, for a reader that came in the middle. */
  whole(text: string, reasoning = ''): readonly UiChunk[] {
    return [...this.#rest('reasoning', reasoning), ...this.#rest('text', text)]
  }

  complete(content: readonly AssistantPart[]): readonly UiChunk[] {
    const thoughts = content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))
    return this.whole(replyText(content), thoughts.join(''))
  }

  end(): readonly UiChunk[] {
    const open = this.#open
    this.#open = undefined
    return open === undefined ? [] : [{ type: `${open.kind}-end`, id: open.id }]
  }

  #rest(kind: Kind, all: string): readonly UiChunk[] {
    return all.startsWith(this.#sent[kind]) ? this.#send(kind, all.slice(this.#sent[kind].length)) : []
  }

  #send(kind: Kind, delta: string): readonly UiChunk[] {
    if (delta === '') return []
    this.#sent[kind] += delta
    const begun: UiChunk[] = []
    if (this.#open?.kind !== kind) {
      begun.push(...this.end())
      const id = `${kind}-${this.#id}-${++this.#parts}`
      this.#open = { kind, id }
      begun.push({ type: `${kind}-start`, id })
    }
    return [...begun, { type: `${kind}-delta`, id: this.#open?.id ?? '', delta }]
  }
}
