"""One prompt per file: VERSION, text, schema, render, parse."""
