import { expect, it } from 'vitest'
import { parseHtml } from './html-text.ts'

async function textOf(html: string): Promise<string | undefined> {
  return (await parseHtml(new TextEncoder().encode(html))).pages[0]
}

it('reads all of a page with a doctype', async () => {
  const html =
    '<!doctype html>\n<html><head><title>Docks</title></head><body><p>The gate is open.</p>\n</body></html>'
  expect(await textOf(html)).toBe('The gate is open.')
  expect(await textOf('<!DOCTYPE html><p>The gate is open.')).toBe('The gate is open.')
})

it('reads on behind a doctype in the middle of a page', async () => {
  expect(await textOf('<div>The gate <!doctype html> is open.</div><p>Always.</p>')).toEqual(
    expect.stringMatching(/^The gate is open\.\n+Always\.$/),
  )
})

it('takes no title of a drawing for that of the page', async () => {
  const titleOf = async (html: string) => (await parseHtml(new TextEncoder().encode(html))).title
  expect(await titleOf('<body><svg><title>Close</title></svg><p>Docks.</p>')).toBeUndefined()
  expect(await titleOf('<svg><title>Close</title></svg><title>Docks</title>')).toBe('Docks')
  expect(await titleOf('<title>Docks</title><p>Open.</p>')).toBe('Docks')
})
