/* In a page, in a frame: tells the page around it what a reader would stumble over, a line each. The first says what
 * was looked at. */
const found = [];
addEventListener('error', (event) => found.push(`it fails: ${event.message || event.target.outerHTML}`), true);
addEventListener('load', () => {
    const words = (node) => JSON.stringify(node.textContent.trim().slice(0, 40));

    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const backgroundOf = (node) => {
        for (; node; node = node.parentElement) {
            const color = channels(getComputedStyle(node).backgroundColor);
            if (color.length === 3 || color[3] > 0)
                return color;
        }
        return [255, 255, 255];
    };
    /* WCAG 2.2, relative luminance and contrast ratio. */
    const luminance = (color) => {
        const [r, g, b] = color.slice(0, 3).map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
    };
    const hasOwnText = (node) =>
        [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());

    const lookAtPage = () => {
        const page = document.scrollingElement;
        if (page.scrollWidth > page.clientWidth)
            found.push(`the page is ${page.scrollWidth} wide and ${page.clientWidth} are shown`);
        for (const resource of performance.getEntriesByType('resource'))
            found.push(`it asks for ${resource.name}`);
    };

    const lookAtContrast = () => {
        for (const node of document.body.querySelectorAll('*')) {
            if (!hasOwnText(node) || node.closest('title, script'))
                continue;
            const style = getComputedStyle(node);
            const ratio = contrast(channels(node.closest('svg') ? style.fill : style.color), backgroundOf(node));
            if (ratio < 4.5)
                found.push(`contrast ${ratio.toFixed(1)}: ${words(node)}`);
        }
    };

    const isOver = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;

    const lookAtChart = (chart) => {
        const frame = chart.getBoundingClientRect();
        const texts = [...chart.querySelectorAll('text')];
        const boxes = texts.map((text) => text.getBoundingClientRect());
        texts.forEach((text, i) => {
            if (boxes[i].left < frame.left - 1 || boxes[i].right > frame.right + 1 ||
                boxes[i].top < frame.top - 1 || boxes[i].bottom > frame.bottom + 1)
                found.push(`outside its chart: ${words(text)}`);
            for (let k = 0; k < i; k++)
                if (isOver(boxes[i], boxes[k]))
                    found.push(`over each other: ${words(texts[k])} and ${words(text)}`);
        });
    };

    lookAtPage();
    lookAtContrast();
    const charts = [...document.querySelectorAll('svg')];
    charts.forEach(lookAtChart);
    const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    parent.postMessage([`${charts.length} charts, ${scheme}, ${innerWidth} px`, ...found].join('\n'), '*');
});
