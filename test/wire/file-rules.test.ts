/** What each vendor refuses about files, and about choices of tools, in a request that is legal otherwise. */
import { describe, expect, it } from 'vitest'
import { checkVendorRequest, type Vendor } from '../vendors/check-vendor-request.ts'
import { LEGAL } from './legal.ts'

type Body = Record<string, unknown[]>

const LISTS: Readonly<Record<Vendor, string>> = {
  anthropic: 'messages',
  'openai-chat': 'messages',
  'openai-responses': 'input',
  google: 'contents',
}

/** A legal request with parts of a user at its end. */
function withParts(vendor: Vendor, parts: readonly object[]): unknown {
  const body = LEGAL[vendor]() as Body
  const user = vendor === 'google' ? { role: 'user', parts } : { role: 'user', content: parts }
  return { ...body, [LISTS[vendor]]: [...(body[LISTS[vendor]] ?? []), user] }
}

function part(vendor: Vendor, type: string, data: string): object {
  const url = `data:${type};base64,${data}`
  const isImage = type.startsWith('image/')
  if (vendor === 'anthropic')
    return { type: isImage ? 'image' : 'document', source: { type: 'base64', media_type: type, data } }
  if (vendor === 'google') return { inlineData: { mimeType: type, data } }
  if (vendor === 'openai-chat')
    return isImage
      ? { type: 'image_url', image_url: { url } }
      : { type: 'file', file: { filename: 'a', file_data: url } }
  return isImage
    ? { type: 'input_image', image_url: url }
    : { type: 'input_file', filename: 'a', file_data: url }
}

const VENDORS = Object.keys(LISTS) as readonly Vendor[]
const MOST: Readonly<Record<Vendor, number>> = {
  anthropic: 100,
  'openai-chat': 1500,
  'openai-responses': 1500,
  google: 3600,
}

describe.each(VENDORS)('%s', (vendor) => {
  it.each(['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])('takes %s', (type) => {
    expect(checkVendorRequest(vendor, withParts(vendor, [part(vendor, type, 'AAAA')]))).toEqual([])
  })

  it.each(['image/bmp', 'image/svg+xml', 'application/zip'])('refuses %s', (type) => {
    expect(checkVendorRequest(vendor, withParts(vendor, [part(vendor, type, 'AAAA')]))).toHaveLength(1)
  })

  it.each(['', 'AAA', 'AA\nA', 'A*AA', 'A==='])('refuses %j as base64', (data) => {
    for (const type of ['image/png', 'application/pdf'])
      expect(checkVendorRequest(vendor, withParts(vendor, [part(vendor, type, data)]))).toHaveLength(1)
  })

  it('takes so many pictures and no more', () => {
    const pictures = (count: number) => Array.from({ length: count }, () => part(vendor, 'image/png', 'AAAA'))
    expect(checkVendorRequest(vendor, withParts(vendor, pictures(MOST[vendor])))).toEqual([])
    expect(checkVendorRequest(vendor, withParts(vendor, pictures(MOST[vendor] + 1)))).toHaveLength(1)
  })

  it('refuses half a character in a name', () => {
    const problems = checkVendorRequest(vendor, withParts(vendor, [{ type: 'text', text: '🎉'.slice(1) }]))
    expect(problems[0]).toContain('surrogate')
  })
})

it('google refuses the choice of a function that is not declared', () => {
  const choice = (name: string) => ({
    ...(LEGAL.google() as object),
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [name] } },
  })
  expect(checkVendorRequest('google', choice('weather'))).toEqual([])
  expect(checkVendorRequest('google', choice('whether'))).toHaveLength(1)
})
