/** A source text of every language, with the exact list of its definitions. */

interface LanguageCase {
  readonly file: string
  readonly text: string
  readonly expected: readonly string[]
}

const TYPESCRIPT = `import { x } from 'x'
export default function () {}
export abstract class A<T> extends B {
  field = 1
  arrow = () => { function hidden() {} }
  abstract later(): void
  get value() { return 1 }
  static async *[Symbol.iterator]() {}
  #secret() {}
  constructor() { super() }
}
declare module 'm' { function q(): void }
namespace N.M { export const z = 1; const hidden = 2; export function w() {} }
export const { a, b: renamed, ...rest } = x, e = 2
export const [first] = x
const listed = 1, hidden = 2
export { listed }
export { other } from 'y'
declare global { interface G { m(): void } }
function overloaded(a: string): void
function overloaded(a: unknown) { const inner = () => 1; class Inner {} }
export type T1 = { m(): void }
export const enum E { A }
const Named = class { m() {} }
export const fn = async () => {}
function* generator() {}
declare const ambient: number
export declare function declared(): void
export declare const shown: number
@decorated
export class D {
  @decorated
  m() {}
}
describe('x', () => { function hidden() {} })
call(class { hidden() {} }, { hidden() {} })
if (x) { function conditional() {} }
`

const JAVASCRIPT = `exports.a = 1
module.exports.b = function () { function hidden() {} }
other.c = 1
class Q { x = () => 1; static { function hidden() {} } static s() {} }
var v = function () {}
const hidden = 1
export default Shown
const Shown = 1
`

const PYTHON = `A = 1
_B: int = 2
hidden = 3
type X = int
@decorated
async def f():
    def hidden(): pass
    C = 1
class K(Base):
    Z = 1
    @property
    def p(self): pass
    class N:
        def q(self): pass
if True:
    def conditional(): pass
hidden2 = lambda: 1
`

const GO = `package main
const A, B = 1, 2
const (
	C = iota
	hidden
)
var ErrX = f(func() { type hidden struct{} })
type S[T any] struct { x int }
type I interface { M() }
type F func()
type Al = S[int]
type (
	G struct{}
	h int
)
func (s *S[T]) M() {}
func (G) N() {}
func f() { type hidden struct{} }
`

const RUST = `pub const A: i32 = 1;
static HIDDEN: i32 = 2;
pub(crate) static C: i32 = 2;
struct S<T>(T);
enum E { X }
union U { a: i32 }
trait T { fn m(&self); fn d(&self) {} }
impl<T> S<T> { pub fn new() -> Self { fn hidden() {} } }
impl T for crate::S<i32> { fn m(&self) {} }
mod m { pub fn x() {} }
type Al = i32;
macro_rules! mac { () => {} }
pub async unsafe fn af() { let c = || { fn hidden() {} }; }
extern "C" { fn ext(); }
`

const BASH = `#!/bin/bash
export A=1 B=2
readonly C=3
hidden=5
f() { hidden() { :; }; }
function h { :; }
function my-func() { :; }
`

export const LANGUAGE_CASES: readonly LanguageCase[] = [
  {
    file: 'a.ts',
    text: TYPESCRIPT,
    expected: [
      '2: function default',
      '3: class A',
      '5: method A.arrow',
      '6: method A.later',
      '7: method A.value',
      '8: method A.[Symbol.iterator]',
      '9: method A.#secret',
      '10: method A.constructor',
      "12: namespace 'm'",
      "12: function 'm'.q",
      '13: namespace N.M',
      '13: constant N.M.z',
      '13: function N.M.w',
      '14: constant a',
      '14: constant renamed',
      '14: constant rest',
      '14: constant e',
      '15: constant first',
      '16: constant listed',
      '19: interface G',
      '20: function overloaded',
      '21: function overloaded',
      '22: type T1',
      '23: enum E',
      '24: class Named',
      '24: method Named.m',
      '25: function fn',
      '26: function generator',
      '28: function declared',
      '29: constant shown',
      '31: class D',
      '33: method D.m',
      '37: function conditional',
    ],
  },
  {
    file: 'a.tsx',
    text: 'export const View = () => <p>{() => 1}</p>\nexport class Page extends Component<Props> { render() { return <View /> } }\n',
    expected: ['1: function View', '2: class Page', '2: method Page.render'],
  },
  {
    file: 'a.mjs',
    text: JAVASCRIPT,
    expected: [
      '1: constant a',
      '2: function b',
      '4: class Q',
      '4: method Q.x',
      '4: method Q.s',
      '5: function v',
      '8: constant Shown',
    ],
  },
  {
    file: 'a.py',
    text: PYTHON,
    expected: [
      '1: constant A',
      '2: constant _B',
      '4: type X',
      '6: function f',
      '9: class K',
      '12: method K.p',
      '13: class K.N',
      '14: method K.N.q',
      '16: function conditional',
    ],
  },
  {
    file: 'a.go',
    text: GO,
    expected: [
      '2: constant A',
      '2: constant B',
      '4: constant C',
      '7: variable ErrX',
      '8: struct S',
      '9: interface I',
      '10: type F',
      '11: type Al',
      '13: struct G',
      '14: type h',
      '16: method S.M',
      '17: method G.N',
      '18: function f',
    ],
  },
  {
    file: 'a.rs',
    text: RUST,
    expected: [
      '1: constant A',
      '3: constant C',
      '4: struct S',
      '5: enum E',
      '6: union U',
      '7: trait T',
      '7: method T.m',
      '7: method T.d',
      '8: method S.new',
      '9: method crate::S.m',
      '10: module m',
      '10: function m.x',
      '11: type Al',
      '12: macro mac',
      '13: function af',
      '14: function ext',
    ],
  },
  {
    file: 'a.sh',
    text: BASH,
    expected: [
      '2: constant A',
      '2: constant B',
      '3: constant C',
      '5: function f',
      '6: function h',
      '7: function my-func',
    ],
  },
]
