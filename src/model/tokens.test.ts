/** Tokens: the estimate compared with a tokenizer, and the counts of messages. */
import { readFileSync } from 'node:fs'
import { countTokens as realCount } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import type { Message } from '../protocol/index.ts'
import { CONTEXT_SIZES, CONTEXT_SIZES_AS_OF, contextSizeOf } from './context-sizes.ts'
import {
  counterOf,
  countTokens,
  estimatedTokens,
  findCounter,
  type Tokenizer,
  tokenCounter,
} from './tokens.ts'
import { estimateText } from './tokens-estimate.ts'

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const records = Array.from({ length: 50 }, (_, n) => ({
  id: `ord_${(n * 7919).toString(36)}`,
  customerId: 1000 + n,
  total: n * 13.37,
  createdAt: new Date(1.7e12 + n * 86_400_000).toISOString(),
  items: [{ sku: `SKU-${n}-A`, quantity: n % 5 }],
  active: n % 2 === 0,
  note: null,
}))

const TEXTS: Readonly<Record<string, string>> = {
  'English prose': file('docs/decisions/0010-the-turn.md').replaceAll(/[^\w\s.,;]/g, ''),
  'English markdown': file('docs/guide/stores.md'),
  German:
    'Wer heute durch die Straßen der Altstadt geht, findet überall Spuren dieser Zeit: Lagerhäuser, Anlegestellen und die prächtigen Bürgerhäuser der Reeder. Natürlich war nicht alles so glänzend, wie es die Gemälde zeigen. Die Arbeiter lebten in engen Wohnungen, und Überschwemmungen zerstörten regelmäßig, was sie sich mühsam aufgebaut hatten. Bitte prüfen Sie, ob die Rechnung vollständig ist, und überweisen Sie den Betrag innerhalb von vierzehn Tagen auf das unten angegebene Konto.',
  Chinese:
    '人工智能正在改变我们的生活方式。越来越多的企业开始使用大型语言模型来处理客户的问题,分析数据,并自动生成报告。然而,这些系统也带来了新的挑战:如何保证结果的准确性,如何保护用户的隐私,以及如何控制成本。会议定于下周三上午九点在三号会议室举行,请各位准时参加。',
  Japanese:
    '人工知能は私たちの生活を大きく変えつつあります。多くの企業が大規模言語モデルを使って、お客様からの問い合わせに対応したり、データを分析したりしています。しかし、正確さをどのように保証するのかという課題も残っています。コンピューターとインターネットの発展により、働き方も変わりました。',
  Korean:
    '인공지능은 우리의 생활 방식을 크게 바꾸고 있습니다. 많은 기업들이 대규모 언어 모델을 사용하여 고객의 문의에 답하고 데이터를 분석하며 보고서를 자동으로 작성합니다. 그러나 결과의 정확성을 어떻게 보장할 것인지, 개인정보를 어떻게 보호할 것인지에 대한 문제가 남아 있습니다.',
  JSON: JSON.stringify(records),
  'JSON with indents': JSON.stringify(records, null, 2),
  TypeScript: file('src/model/stream.ts') + file('src/store/rules.ts'),
  'a lock file': file('package-lock.json').slice(0, 30_000),
  Base64: Buffer.from(file('package.json')).toString('base64'),
  numbers: Array.from({ length: 200 }, (_, n) => n * n * 7919).join(', '),
}

describe('the estimate', () => {
  it.each(Object.entries(TEXTS))('of %s is at most 5 % too low and 35 % too high', (_, text) => {
    const real = realCount(text)
    expect(real).toBeGreaterThan(50)
    expect(estimateText(text) / real).toBeGreaterThan(0.95)
    expect(estimateText(text) / real).toBeLessThan(1.35)
  })

  it('is nothing for nothing, and never less for more', () => {
    expect(estimateText('')).toBe(0)
    const { TypeScript: text = '' } = TEXTS
    for (let length = 1; length < 2000; length += 7)
      expect(estimateText(text.slice(0, length + 50))).toBeGreaterThanOrEqual(
        estimateText(text.slice(0, length)),
      )
  })
})

describe('what is counted', () => {
  const messages: readonly Message[] = [
    { role: 'user', content: 'Hello there' },
    { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'x'.repeat(100_000) }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool-call', callId: 'c1', tool: 'look', args: { at: 'it' } },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', callId: 'c1', tool: 'look', status: 'ok', output: 'a text' }],
    },
  ]
  const letters = counterOf((text) => text.length, true)

  it('of a message is its texts, calls and results, and a frame for each', () => {
    expect(messages.map((message) => letters.message(message))).toEqual([
      4 + 11,
      4 + 1000,
      4 + 7 + 4 + 4 + 11,
      4 + 4 + 6,
    ])
    expect(letters.messages(messages)).toBe(15 + 1004 + 30 + 14)
  })

  it('of a message is counted once', () => {
    let asked = 0
    const counter = counterOf(() => (asked += 1), false)
    for (let n = 0; n < 5; n++) counter.messages(messages)
    expect(asked).toBe(5)
  })

  it('is exact where a tokenizer is installed', async () => {
    expect(await countTokens('Hello, world!')).toEqual({ tokens: realCount('Hello, world!'), exact: true })
    expect(await countTokens([{ role: 'user', content: 'Hello, world!' }])).toEqual({
      tokens: 8,
      exact: true,
    })
    expect(await tokenCounter()).toBe(await tokenCounter())
  })

  it('is estimated where none is', async () => {
    const counter = await findCounter(() => Promise.reject(new Error('ERR_MODULE_NOT_FOUND')))
    expect(counter).toBe(estimatedTokens)
    expect([counter.exact, counter.text('Hello, world!')]).toEqual([false, estimateText('Hello, world!')])
  })

  it('takes the marks of a tokenizer for texts', async () => {
    const { text } = await tokenCounter()
    expect(text('a <|endoftext|> b')).toBe(9)
  })

  it('counts what has no gap in pieces, which takes longer the longer it is and not worse', async () => {
    const seen: number[] = []
    const tokenizer: Tokenizer = { countTokens: (text) => seen.push(text.length) && text.length }
    const { text } = await findCounter(async () => tokenizer)
    expect(text('a'.repeat(2500))).toBe(2500)
    expect(text('word '.repeat(1000))).toBe(5000)
    expect(seen).toEqual([1000, 1000, 500, 5000])
  })

  it.each([' ', '\n', '\t', '.', '-=', '💥'])('counts a long run of %j in pieces', async (part) => {
    const seen: number[] = []
    const tokenizer: Tokenizer = { countTokens: (text) => seen.push(text.length) && text.length }
    const { text } = await findCounter(async () => tokenizer)
    text(`before ${part.repeat(3000)} after`)
    expect(Math.max(...seen)).toBe(1000)
  })
})

describe('the size of a context', () => {
  it.each([
    ['openai/gpt-4.1-mini-2025-04-14', 1_047_576],
    ['openai/gpt-4o-mini', 128_000],
    ['openai/gpt-5-mini', 272_000],
    ['openai/o3', 200_000],
    ['anthropic/claude-sonnet-4-5', 200_000],
    ['google/gemini-2.5-flash', 1_048_576],
  ])('of %s is %i', (name, size) => {
    expect(contextSizeOf(name)).toBe(size)
  })

  it('is not made up', () => {
    expect(['acme/m1', '', 'ollama/o3-distilled'].map(contextSizeOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(CONTEXT_SIZES_AS_OF).toMatch(/^\d{4}-\d\d$/)
    for (const size of Object.values(CONTEXT_SIZES)) expect(size).toBeGreaterThanOrEqual(128_000)
  })
})
