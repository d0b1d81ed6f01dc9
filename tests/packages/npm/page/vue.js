import { createApp } from 'vue'
import Desk from './Desk.vue'

createApp(Desk).mount('#root')
