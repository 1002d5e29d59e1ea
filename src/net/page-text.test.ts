import { expect, it } from 'vitest'
import { pageText } from './page-text.ts'

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
const bytes = (...hex: readonly string[]): Buffer => Buffer.from(hex.join(''), 'hex')

/** 日本語 in Shift_JIS and EUC-JP, 中文 in GBK, Привет in windows-1251. */
const SHIFT_JIS = bytes('93fa967b8cea')
const EUC_JP = bytes('c6fccbdcb8ec')
const GBK = bytes('d6d0cec4')
const CYRILLIC = bytes('cff0e8e2e5f2')

function read(body: Buffer, contentType: string): string {
  const { text, charset, isDamaged } = pageText({
    body,
    mediaType: contentType.split(';')[0] ?? '',
    contentType,
  })
  return `${charset}${isDamaged ? ' damaged' : ''}: ${text}`
}

it('the header names the encoding', () => {
  expect(read(Buffer.from('é€😀'), 'text/plain; charset=utf-8')).toBe('utf-8: é€😀')
  expect(read(Buffer.from('é', 'utf16le'), 'text/plain;charset="UTF-16LE"')).toBe('utf-16le: é')
  expect(read(bytes('00e9'), 'text/html; charset=utf-16be')).toBe('utf-16be: é')
  expect(read(latin1('é'), 'text/plain; charset=ISO-8859-1')).toBe('windows-1252: é')
  expect(read(latin1('\x80'), "text/plain; charset='latin1'")).toBe('windows-1252: €')
  expect(read(SHIFT_JIS, 'text/plain; Charset=Shift_JIS')).toBe('shift_jis: 日本語')
  expect(read(EUC_JP, 'text/plain; charset=euc-jp')).toBe('euc-jp: 日本語')
  expect(read(GBK, 'text/plain; charset=gb2312')).toBe('gbk: 中文')
  expect(read(CYRILLIC, 'text/plain; charset=windows-1251')).toBe('windows-1251: Привет')
})

it('a byte order mark counts more than the header, and is not part of the text', () => {
  expect(read(Buffer.concat([bytes('efbbbf'), Buffer.from('é')]), 'text/plain; charset=latin1')).toBe(
    'utf-8: é',
  )
  expect(read(Buffer.concat([bytes('fffe'), Buffer.from('é', 'utf16le')]), 'text/plain')).toBe('utf-16le: é')
  expect(read(bytes('feff00e9'), 'text/html; charset=utf-8')).toBe('utf-16be: é')
})

it('a page may declare its encoding itself, within its first 1024 bytes', () => {
  const page = (meta: string): Buffer =>
    Buffer.concat([Buffer.from(`<!doctype html><head>${meta}`), SHIFT_JIS])
  expect(read(page('<meta charset=Shift_JIS>'), 'text/html')).toContain('shift_jis: ')
  expect(read(page('<META name=x Charset = "shift-jis">'), 'text/html')).toMatch(/^shift_jis: .*日本語$/)
  const old = '<meta http-equiv="Content-Type" content="text/html; charset=sjis">'
  expect(read(page(old), 'text/html')).toMatch(/^shift_jis: .*日本語$/)
  expect(read(page(`<!-- <meta charset=utf-16> -->${old}`), 'text/html')).toMatch(/^shift_jis: /)
  expect(read(page(`${' '.repeat(1100)}<meta charset=shift_jis>`), 'text/html')).toMatch(/^windows-1252: /)
  expect(read(page('<meta charset=shift_jis>'), 'text/html; charset=euc-jp')).toMatch(/^euc-jp/)
  const xml = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="windows-1251"?>'), CYRILLIC])
  expect(read(xml, 'application/xml')).toMatch(/^windows-1251: .*Привет$/)
  expect(read(Buffer.from('<meta charset=utf-16>é'), 'text/html')).toMatch(/^utf-8: .*é$/)
})

it('without a declaration, or with an unknown one, it is UTF-8, or Western European', () => {
  expect(read(Buffer.from('é'), 'text/plain')).toBe('utf-8: é')
  expect(read(latin1('caf\xe9'), 'text/plain')).toBe('windows-1252: café')
  expect(read(latin1('caf\xe9'), 'text/html; charset=klingon')).toBe('windows-1252: café')
  expect(read(Buffer.from('é'), 'text/html; charset=hz-gb-2312')).toBe('utf-8: é')
  expect(read(Buffer.from(''), 'text/html')).toBe('utf-8: ')
})

it('invalid bytes are replaced, and that is said', () => {
  expect(read(latin1('{"a":"\xe9"}'), 'application/json')).toBe('utf-8 damaged: {"a":"�"}')
  expect(read(latin1('\xe9'), 'text/plain; charset=utf-8')).toBe('utf-8 damaged: �')
  expect(read(bytes('d83d'), 'text/plain; charset=utf-16be')).toBe('utf-16be damaged: �')
})
