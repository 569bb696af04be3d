// The selection is in the address: `#layer=7`, in bodies `#layer=7/body/3`, in further models `#network=2&layer=7`.

export function hrefOf(layer) {
  const index = layer.network.index;
  const key = layer.key.split("/").map(encodeURIComponent).join("/");
  return `#${index ? `network=${index + 1}&` : ""}layer=${key}`;
}

export function layerAt(hash, networks) {
  const fields = new Map(hash.replace(/^#/, "").split("&").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]));
  const network = networks[(Number(fields.get("network")) || 1) - 1];
  try {
    return network?.layers.get(decodeURIComponent(fields.get("layer") ?? "")) ?? null;
  } catch {
    return null; // not UTF-8
  }
}
