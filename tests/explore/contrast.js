(() => {
  // Texts whose contrast is below that of WCAG 2.2, level AA: 4.5, or 3 for large ones.
  const channels = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 1 : 255;
    const [r, g, b, a = 1] = numbers;
    return { rgb: [r / scale, g / scale, b / scale], a };
  };
  const over = (top, below) => top.rgb.map((v, i) => v * top.a + below[i] * (1 - top.a));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element) => {
    const found = [];
    for (let e = element; e; e = e.parentElement) {
      const c = channels(getComputedStyle(e).backgroundColor);
      if (c.a > 0) found.push(c);
      if (c.a === 1) break;
    }
    return found.reverse().reduce((below, top) => over(top, below), [1, 1, 1]);
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest("svg, .unseen, .skip, option, [aria-disabled]")) continue;
    const style = getComputedStyle(element);
    const below = paper(element);
    const ink = over(channels(style.color), below);
    const [a, b] = [light(ink), light(below)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if ((a + 0.05) / (b + 0.05) < (large ? 3 : 4.5)) {
      bad.push(`${((a + 0.05) / (b + 0.05)).toFixed(2)} ${element.tagName} ${element.className} ${walker.currentNode.textContent.slice(0, 30)}`);
    }
  }
  return [...new Set(bad)].slice(0, 12);
})()
