import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { LimitedProcess, runInProcess } from '../../src/base/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { htmlToMarkdown } from '../../src/toolbox/html-to-markdown.ts'
import { programFile } from '../build/programs.ts'
import { PATIENCE_MS } from '../patience.ts'

const URL_OF_PAGE = 'https://example.com/a/page.html'

/** One conversion of all cases: `hr` divides them. */
async function converted(cases: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const html = Object.keys(cases).join('<hr>')
  const { markdown } = await htmlToMarkdown({ html, url: URL_OF_PAGE })
  const parts = markdown.split(/(?:^|\n\n)\* \* \*(?:\n\n|$)/)
  return Object.fromEntries(Object.keys(cases).map((key, at) => [key, parts[at] ?? '']))
}

it('elements become Markdown', async () => {
  const cases = {
    '<h2>Title</h2><p>One<br>two</p>': '## Title\n\nOne  \ntwo',
    '<p><b>bold</b> <em>soft</em> <code>a_b</code> a_b *c*</p>': '**bold** _soft_ `a_b` a\\_b \\*c\\*',
    '<pre><code class="language-js">let a = "&lt;b&gt;"\n  x</code></pre>': '```js\nlet a = "<b>"\n  x\n```',
    '<ul><li>a<ol><li>b</li></ol></li><li>c</li></ul>': '-   a\n    1.  b\n-   c',
    '<blockquote><p>said</p></blockquote>': '> said',
    '<table><caption>T</caption><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></tbody></table>':
      'T\n\n| A | B |\n| --- | --- |\n| 1\\|2 | x y |',
    '<table><tr><th>A</th><td>1</td></tr><tr><th>B</th><td>2</td></tr></table>':
      '| A | 1 |\n| --- | --- |\n| B | 2 |',
    '<table><tr><td>left</td><td>right</td></tr><tr><td>below</td></tr></table>': 'left right\nbelow',
    '<p>a &amp; b &eacute; &#x1F600; &nbsp;c</p>': 'a & b é 😀 \u00a0c',
  }
  expect(await converted(cases)).toEqual(cases)
})

it('scripts, styles, menus, controls and hidden texts are left out', async () => {
  const cases = {
    'a<script>alert("x")</script><style>p{}</style><noscript>n</noscript>b': 'ab',
    '<nav><a href="/">Home</a></nav>c<template>t</template>': 'c',
    '<p hidden>h</p><p style="color:red; DISPLAY : none">i</p><div style="visibility:hidden">v</div>d': 'd',
    'e<svg><title>s</title><text>t</text></svg><iframe src="x">f</iframe><object>o</object>': 'e',
    '<form>name <input value=x><button>Send</button></form>f': 'name \n\nf',
    'g<!-- comment -->h': 'gh',
  }
  expect(await converted(cases)).toEqual(cases)
})

it('links and images are absolute, and only those that lead somewhere', async () => {
  const cases = {
    '<a href="b.html?x=1#y">b</a>': '[b](https://example.com/a/b.html?x=1#y)',
    '<a href="/c"> c <b>d</b>\n e</a>': '[c **d** e](https://example.com/c)',
    '<a href="//other.example/x(1)">o</a>': '[o](https://other.example/x%281%29)',
    '<a href="mailto:a@b.example">mail</a>': '[mail](mailto:a@b.example)',
    '<a href="javascript:alert(1)">j</a> <a href="#top">t</a> <a name="n">n</a> <a href="http://[">x</a>':
      'j t n x',
    '<a href="/card"><h3>Card</h3><p>Text</p></a>': '[### Card Text](https://example.com/card)',
    '<img src="i.png" alt="an [image]">': '![an \\[image\\]](https://example.com/a/i.png)',
    '<img src="data:image/png;base64,AAAA" alt="inline">z<img>': 'inlinez',
    '<a href="empty"></a>y': 'y',
  }
  expect(await converted(cases)).toEqual(cases)
})

it('a page has a title, and may move the base of its links', async () => {
  const html = `<!doctype html><html><head><title> A &lt;b&gt;
    title </title><base href="/docs/"><base href="/no/"></head><body><svg><title>no</title></svg>
    <a href="x">x</a></body></html>`
  expect(await htmlToMarkdown({ html, url: URL_OF_PAGE })).toEqual({
    title: 'A <b> title',
    markdown: '[x](https://example.com/docs/x)',
  })
})

it('a page that is nested too deeply is refused, and the program goes on meanwhile', async () => {
  let ticks = 0
  const interval = setInterval(() => ticks++, 1)
  const deep = htmlToMarkdown({ html: '<b>'.repeat(20_000), url: URL_OF_PAGE }, { timer: new ManualClock() })
  await expect(deep).rejects.toThrow('The page cannot be read: its elements are nested too deeply.')
  clearInterval(interval)
  expect(ticks).toBeGreaterThan(0)
})

it('a page that takes too long, or is not wanted any more, is given up', async () => {
  const endless = { html: '<div>'.repeat(100_000), url: URL_OF_PAGE }
  const clock = new ManualClock()
  const late = htmlToMarkdown(endless, { timer: clock })
  clock.advance(30_000)
  await expect(late).rejects.toThrow('The page cannot be read as Markdown: it took more than 30000 ms.')
  const controller = new AbortController()
  const stopped = htmlToMarkdown(endless, { signal: controller.signal })
  controller.abort(new Error('not wanted'))
  await expect(stopped).rejects.toThrow('not wanted')
  await expect(htmlToMarkdown(endless, { signal: controller.signal })).rejects.toThrow('not wanted')
})

it('without turndown the process says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-no-turndown-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  cpSync('src/base', join(folder, 'base'), { recursive: true })
  const copy = join(folder, 'toolbox/markdown-process.ts')
  cpSync('src/toolbox/markdown-process.ts', copy)
  const limits = { module: pathToFileURL(copy), megabytes: 512, timeoutMs: PATIENCE_MS }
  expect(await runInProcess({ html: '', url: URL_OF_PAGE }, limits)).toEqual({ problem: 'no-turndown' })
})

it.each(['heap', 'buffers'])('a bomb of %s ends its process, and not this one', async (kind) => {
  const limits = {
    module: pathToFileURL(programFile('test/toolbox/memory-bomb.ts')),
    megabytes: 160,
    timeoutMs: PATIENCE_MS,
  }
  const bombed = new LimitedProcess(limits)
  onTestFinished(() => bombed.close())
  await expect(bombed.ask(kind)).rejects.toThrow('it took more than 160 MB of memory')
  expect(bombed.isRunning).toBe(false)
  expect(await bombed.ask('nothing')).toBe('alive')
  await expect(bombed.ask('throw')).rejects.toThrow('no such bomb')
  expect(bombed.isRunning).toBe(true)
})
