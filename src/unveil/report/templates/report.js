const specs = JSON.parse(document.getElementById("specs").textContent);
const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const options = {
  mode: "vega-lite",
  renderer: "svg",
  actions: false,
  ast: true, // expressions are interpreted, never compiled: no eval
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
  config: {
    font,
    background: "transparent",
    view: { stroke: "#c8ccd2" },
    axis: {
      labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500, labelColor: "#333", titleColor: "#333",
      gridColor: "#e6e8eb", domainColor: "#888", tickColor: "#888", labelOverlap: true, labelFlush: false,
    },
    legend: { labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500, labelColor: "#333", titleColor: "#333" },
  },
};

async function draw(figure) {
  const numbers = figure.querySelector("details");
  try {
    await window.vegaEmbed(figure.querySelector(".chart"), specs[figure.id], options);
    figure.dataset.drawn = "yes";
    if (numbers) numbers.open = false;
  } catch (error) {
    figure.dataset.drawn = "no";
    console.error(`${figure.id}: ${error}`);
  }
}

// One after another, first things first, so that the page can be read meanwhile.
for (const figure of document.querySelectorAll("figure[id]")) {
  await draw(figure);
  await new Promise((go) => setTimeout(go));
}
document.documentElement.dataset.charts = "drawn";
