/** The files that a model is sent: none that it refused, and old ones only within its vendor's limits. */
import { describe, expect, it } from 'vitest'
import type { FilePart, Message } from '../protocol/index.ts'
import { FILE_LIMITS } from './file-limits.ts'
import { fileDigest, filesIn, shownFiles } from './shown-files.ts'

const NONE: ReadonlySet<string> = new Set()
const picture = (name: string, data: string = 'AAAA'): FilePart => ({
  type: 'file',
  mediaType: 'image/png',
  name,
  data,
})
const said = (...content: FilePart[]): Message => ({ role: 'user', content })
const names = (messages: readonly Message[]) => filesIn(messages).map(({ name }) => name)

describe('files of a prompt', () => {
  it('are all sent, in the same messages, while nothing speaks against it', () => {
    const messages = [said(picture('a')), said(picture('b'))]
    expect(shownFiles(messages, { provider: 'anthropic.messages', refused: NONE }).messages).toEqual(messages)
  })

  it('that were refused are a text, in a message that stays the same from prompt to prompt', () => {
    const [bad, good] = [picture('a'), picture('b')]
    const messages = [said(bad, good)]
    const options = { provider: 'openai.chat', refused: new Set([fileDigest({ ...bad })]) }
    const { messages: shown } = shownFiles(messages, options)
    expect(shown[0]?.content).toEqual([
      { type: 'text', text: '[Here was the file "a" (image/png). It could not be read.]' },
      good,
    ])
    expect(shownFiles(messages, options).messages[0]).toBe(shown[0])
  })

  it('go in steps, the oldest first, when there are too many pictures', () => {
    const { images = 0 } = FILE_LIMITS['anthropic'] ?? {}
    const sent = (count: number) => {
      const messages = Array.from({ length: count }, (_, at) => said(picture(`${at}`)))
      return names(shownFiles(messages, { provider: 'anthropic.messages', refused: NONE }).messages)
    }
    expect([images, images + 1, images + 25, images + 26].map((count) => sent(count).length)).toEqual([
      images,
      images - 24,
      images,
      images - 24,
    ])
    expect(sent(images + 1)[0]).toBe('25')
  })

  it('go, the oldest first, when the request would be too large; what was just sent stays', () => {
    const large = 'A'.repeat(15_000_000)
    const messages = ['a', 'b', 'c'].map((name) => said(picture(name, large)))
    const shown = (each: readonly Message[]) =>
      names(shownFiles(each, { provider: 'anthropic.messages', refused: NONE }).messages)
    expect(shown(messages)).toEqual(['c'])
    expect(shown([said(picture('x', large.repeat(3)))])).toEqual(['x'])
  })

  it('have no limit with a provider that nobody knows', () => {
    const messages = Array.from({ length: 4000 }, (_, at) => said(picture(`${at}`)))
    expect(shownFiles(messages, { provider: 'acme', refused: NONE }).messages).toEqual(messages)
  })
})
