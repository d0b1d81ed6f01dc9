import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

const input = ['index.html', 'mounts.html', 'vue.html']
export default defineConfig({ plugins: [vue()], build: { rollupOptions: { input }, minify: false } })
