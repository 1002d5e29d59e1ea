/**
 * `holdfast/terminal`: text that is safe to print. Everything that the terminal program, or the console output of an
 * agent, shows to a person goes through here. For the package itself: other programs rely on it at their own risk.
 */
export { type ColourOptions, wantsColour } from './colours.ts'
export { Output, type OutputStream } from './output.ts'
export {
  bold,
  cursorUp,
  cyan,
  dim,
  ERASE_BELOW,
  ERASE_LINE_END,
  green,
  HIDE_CURSOR,
  joinLines,
  LINE_START,
  NOTHING,
  PASTE_MARKS_OFF,
  PASTE_MARKS_ON,
  type Paint,
  prose,
  red,
  SHOW_CURSOR,
  Styled,
  styled,
  WRAP_OFF,
  WRAP_ON,
  yellow,
} from './styled.ts'
export {
  typeable,
  VisibleStream,
  visible,
  visibleJson,
  visibleLines,
  visibleValue,
} from './visible.ts'
