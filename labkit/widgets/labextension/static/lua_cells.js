// Extension of JupyterLab that colours cells which begin with %%lua. It is a container of module federation, written by
// hand, so that nothing has to be built.
(() => {
  const LUA = "text/x-lua";
  let shared;
  const tokenOf = async (module, name) => {
    const [found] = Object.values(shared[module]);
    return (await found.get())()[name];
  };

  const colour = (notebook, cell) => {
    if (cell.type !== "code") return;
    const isLua = /^\s*%%lua\b/.test(cell.sharedModel.getSource());
    if (isLua !== (cell.mimeType === LUA)) cell.mimeType = isLua ? LUA : notebook.codeMimetype;
  };

  const watch = notebook => {
    const seen = new WeakSet();
    const all = () => {
      for (const cell of notebook.model?.cells ?? []) {
        if (seen.has(cell)) continue;
        seen.add(cell);
        const update = () => colour(notebook, cell);
        cell.contentChanged.connect(update);
        cell.mimeTypeChanged.connect(update); // also as the kernel says its language
        update();
      }
    };
    notebook.modelContentChanged.connect(all);
    all();
  };

  (window._JUPYTERLAB ??= {}).labkit = {
    init: scope => { shared = scope; },
    get: async () => {
      const tracker = await tokenOf("@jupyterlab/notebook", "INotebookTracker");
      const activate = (_, notebooks) => {
        notebooks.forEach(panel => watch(panel.content));
        notebooks.widgetAdded.connect((_, panel) => watch(panel.content));
      };
      const plugin = { id: "labkit:lua-cells", autoStart: true, requires: [tracker], activate };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
