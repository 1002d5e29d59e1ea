/** Runs in the page: the visible texts whose contrast with their ground is below that of WCAG AA, one line each. */

export function lowContrast(): string[] {
  const parts = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = ([red = 0, green = 0, blue = 0]: number[]): number => {
    const [r = 0, g = 0, b = 0] = [red, green, blue].map((part) => {
      const share = part / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = (element: Element | null): number[] => {
    if (element === null) return [255, 255, 255]
    const color = parts(getComputedStyle(element).backgroundColor)
    return (color[3] ?? 1) === 0 ? ground(element.parentElement) : color
  }
  const found: string[] = []
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '',
    )
    const isShown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    if (!hasText || !isShown || element.closest('.hidden, :disabled, option') !== null) continue
    const [text, behind] = [luminance(parts(getComputedStyle(element).color)), luminance(ground(element))]
    const ratio = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05)
    if (ratio < 4.5)
      found.push(`${element.className} ${element.textContent?.slice(0, 30)}: ${ratio.toFixed(2)}`)
  }
  return found
}
